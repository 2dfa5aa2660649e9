// The official TypeScript SDK's client, driven by one JSON plan on the
// command line: {"sdk":FOLDER,"command":..,"args":[..],"env":{..},
// "steps":[[kind, ...]]}; or "url" instead of a command: MCP over HTTP.
// Prints one JSON object: a result per step.
const plan = JSON.parse(process.argv[2]);
const base = plan.sdk + '/node_modules/@modelcontextprotocol/sdk/dist/esm/';
const { Client } = await import(base + 'client/index.js');
const { StdioClientTransport } = await import(base + 'client/stdio.js');
const types = await import(base + 'types.js');

const { StreamableHTTPClientTransport } = await import(
  base + 'client/streamableHttp.js');

const transport = plan.url ?
  new StreamableHTTPClientTransport(new URL(plan.url)) :
  new StdioClientTransport({
    command: plan.command, args: plan.args, env: plan.env, stderr: 'pipe',
  });
const asked = [];
const client = new Client({ name: 'sdk', version: '1' }, {
  capabilities: plan.capabilities ?? { roots: { listChanged: true }, sampling: {},
    elicitation: {} },
});
if (!plan.capabilities) {
  client.setRequestHandler(types.ListRootsRequestSchema, () => {
    asked.push('roots/list');
    return { roots: [{ uri: 'file:///secret' }] };
  });
  client.setRequestHandler(types.CreateMessageRequestSchema, () => {
    asked.push('sampling/createMessage');
    return { model: 'm', role: 'assistant', content: { type: 'text', text: 'x' } };
  });
}
const notes = [];
client.fallbackNotificationHandler = async (note) => { notes.push(note.method); };
const errors = [];
// The SDK hands a notification on a moment later and an answer at once: where
// both are in one read, it does not know the token any more when it comes to
// the notification (a server alone, without us, does this too). So the order
// on the wire is looked at here: in it, progress never follows its answer.
const answered = new Set(), early = new Set(), deferred = [];
const step = ({ params }) => `${params.progressToken}/${params.progress}`;
function wire(message) {
  if (message.method === 'notifications/progress') {
    if (answered.has(message.params.progressToken))
      errors.push('progress after its answer: ' + JSON.stringify(message));
    else early.add(step(message));
  } else if (message.method === undefined) answered.add(message.id);
}
client.onerror = (error) => {
  const text = String(error);
  if (text.includes('progress notification for an unknown token: ')
    && early.has(step(JSON.parse(text.slice(text.indexOf('{'))))))
    deferred.push(text);
  else errors.push(text);
};

async function task(params) {
  const seen = [];
  for await (const message of client.experimental.tasks.callToolStream(
    params, types.CallToolResultSchema, {})) {
    seen.push(message.type);
    if (message.type === 'result') return { seen, result: message.result };
    if (message.type === 'error') return { seen, error: String(message.error) };
  }
  return { seen };
}

async function progress(params) {
  const seen = [];
  const result = await client.callTool(params, undefined, {
    onprogress: (note) => seen.push(note.progress), timeout: 60000,
  });
  return { seen, result };
}

async function cancel(params, ms) {
  const abort = new AbortController();
  setTimeout(() => abort.abort('enough'), ms);
  try {
    await client.callTool(params, undefined, { signal: abort.signal });
    return { cancelled: false };
  } catch (error) {
    return { cancelled: true, error: String(error) };
  }
}

const steps = {
  tools: () => client.listTools(),
  call: (name, args) => client.callTool({ name, arguments: args }),
  task: (name, args) => task({ name, arguments: args }),
  progress: (name, args) => progress({ name, arguments: args }),
  cancel: (name, args, ms) => cancel({ name, arguments: args }, ms),
  resources: () => client.listResources(),
  read: (uri) => client.readResource({ uri }),
  subscribe: (uri) => client.subscribeResource({ uri }),
  templates: () => client.listResourceTemplates(),
  prompts: () => client.listPrompts(),
  prompt: (name, args) => client.getPrompt({ name, arguments: args }),
  complete: (ref, argument) => client.complete({ ref, argument }),
  level: (level) => client.setLoggingLevel(level),
  ping: () => client.ping(),
  sleep: (ms) => new Promise((done) => setTimeout(() => done({}), ms)),
};

const out = { results: [], notes, asked, errors, deferred };
try {
  await client.connect(transport, { timeout: 120000 });
  const pass = transport.onmessage;
  transport.onmessage = (message, extra) => { wire(message); pass(message, extra); };
  out.server = client.getServerVersion();
  out.capabilities = client.getServerCapabilities();
  for (const [kind, ...rest] of plan.steps) {
    try {
      out.results.push({ ok: await steps[kind](...rest) });
    } catch (error) {
      out.results.push({ error: String(error) });
    }
  }
  const begin = Date.now();
  await client.close();
  out.close_ms = Date.now() - begin;
} catch (error) {
  out.fatal = String(error);
}
process.stdout.write(JSON.stringify(out));
process.exit(0);
