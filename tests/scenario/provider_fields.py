#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped provider files beside the type definitions of the official
SDKs: every field of a covered request, every kind of tool, item and block
that the SDKs document is either in the file or in the list below of what is
closed on purpose. A newer SDK with a field that nobody has read fails."""
import json
import os
import re

import agent_case
import harness
import npm_cache
from harness import check

MODULES = os.path.join(npm_cache.ensure(agent_case.SDKS), "node_modules")
FILES = {name: json.load(open(os.path.join(
    harness.SOURCE, "config", "providers", name + ".json"),
    encoding="utf-8")) for name in ("openai", "anthropic", "gemini")}

# Refused by name: what the provider would do, keep, fetch, charge more for,
# or judge by another model; what belongs to the client's side of the SDK.
CLOSED = {
    "chat": {"moderation"},
    "responses": {"access_programs", "background_options",
                  "context_management", "image", "moderation"},
    "messages": {"billing_policy", "compaction", "diagnostics",
                 "fallback_credit_token", "fallbacks", "inference_geo",
                 "thread", "user_profile_id", "workspace_id",
                 "betas"},  # the header, which has a list of its own
    "count": {"billing_policy", "compaction", "user_profile_id",
              "workspace_id", "betas"},
    "output_config": {"task_budget"},
    "generate": {"httpOptions", "abortSignal", "automaticFunctionCalling",
                 "routingConfig", "modelSelectionConfig", "audioTimestamp",
                 "audioTranscriptionConfig", "modelArmorConfig",
                 "continuationToken", "automaticContinuation",
                 "generationOutputConfig"},
    "part": {"audioTranscription", "partMetadata", "mediaProcessing",
             "speechMetadata"},
    "gemini tool": {"retrieval", "enterpriseWebSearch", "exaAiSearch",
                    "parallelAiSearch"},
    "function_response part": {"fileData", "mediaProcessing"},
    "openai tool": {"programmatic_tool_calling", "local_shell", "shell",
                    "namespace", "tool_search", "apply_patch"},
    "openai item": {"tool_search_call", "tool_search_output",
                    "additional_tools", "configuration_update", "compaction",
                    "local_shell_call", "local_shell_call_output",
                    "shell_call", "shell_call_output", "apply_patch_call",
                    "apply_patch_call_output", "compaction_trigger",
                    "program", "program_output"},
    "anthropic tool": {"browser_toolset_20260801", "advisor_20260301",
                       "computer_toolset_20260801", "bash_20241022",
                       "text_editor_20241022"},
    "anthropic block": {"advisor_tool_result", "compaction", "fallback",
                        "tool_addition", "tool_removal", "mcp_tool_listing"},
    "hosted image": {"model"},
}


def types(path):
    """A file of type definitions without its comments."""
    with open(os.path.join(MODULES, path), encoding="utf-8") as file:
        return re.sub(r"/\*\*.*?\*/", "", file.read(), flags=re.S)


def body(text, name):
    """What is between the braces of an interface."""
    start = re.search(
        r"(?:interface|class) %s(?: extends [\w.,<> ]+)? \{" % name, text)
    if start is None:
        return ""
    depth, end = 1, start.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start.end():end - 1]


def fields(text, *names):
    found = set()
    for name in names:
        depth = 0
        for part in re.finditer(r"[{}]|([\w$]+)\??:", body(text, name)):
            depth += {"{": 1, "}": -1}.get(part[0], 0)
            if depth == 0 and part[1]:
                found.add(part[1])
    return found


def kinds(text, union):
    """The values of `type` of all that a union is made of."""
    found, members = set(), re.search(
        r"export (?:declare )?type %s = (.*?);\n" % union, text, re.S)
    for name in re.findall(r"[\w.]+", members[1] if members else ""):
        inside = body(text, name.split(".")[-1])
        kind = re.search(r"\btype\??: ((?:'[\w.-]+'(?: \| )?)+)", inside)
        if kind:
            found |= set(re.findall(r"'([^']+)'", kind[1]))
        elif not inside and name != union:
            found |= kinds(text, name)
    return found


def rule(provider, name, key="fields"):
    found = FILES[provider]["rules"][name]
    return set(found.get("rule", found)[key])


def judge(title, documented, known, least):
    closed = CLOSED.get(title, set())
    check(f"{title}: the SDK's types were read", len(documented) >= least,
          documented)
    check(f"{title}: every field of the SDK is known or closed on purpose",
          documented <= known | closed, sorted(documented - known - closed))
    check(f"{title}: nothing that is closed on purpose is in the file",
          not closed & known, sorted(closed & known))


def openai():
    chat = types("openai/resources/chat/completions/completions.d.ts")
    text = types("openai/resources/responses/responses.d.ts")
    judge("chat", fields(chat, "ChatCompletionCreateParamsBase"),
          rule("openai", "chat"), 30)
    judge("responses", fields(text, "ResponseCreateParamsBase"),
          rule("openai", "responses"), 25)
    judge("embeddings", fields(types("openai/resources/embeddings.d.ts"),
                               "EmbeddingCreateParams"),
          rule("openai", "embeddings"), 5)
    judge("openai tool", kinds(text, "Tool"),
          rule("openai", "tool", "cases"), 12)
    judge("openai item", kinds(text, "ResponseInputItem"),
          rule("openai", "item", "cases"), 20)
    judge("hosted image", fields(text, "ImageGeneration"),
          rule("openai", "hosted_image"), 10)
    for name, of in (("item_call", "ResponseFunctionToolCall"),
                     ("item_call", "ResponseCustomToolCall"),
                     ("item_output", "ResponseCustomToolCallOutput"),
                     ("item_reasoning", "ResponseReasoningItem"),
                     ("item_message", "ResponseOutputMessage"),
                     ("input_file", "ResponseInputFile"),
                     ("input_image", "ResponseInputImage"),
                     ("output_text", "ResponseOutputText")):
        judge(f"{of}", fields(text, of), rule("openai", name), 3)


def anthropic():
    plain = types("@anthropic-ai/sdk/resources/messages/messages.d.ts")
    beta = types("@anthropic-ai/sdk/resources/beta/messages/messages.d.ts")
    for text, prefix in ((plain, ""), (beta, "Beta")):
        judge("messages", fields(text, "MessageCreateParamsBase"),
              rule("anthropic", "create"), 12)
        judge("count", fields(text, "MessageCountTokensParams"),
              rule("anthropic", "count"), 8)
        judge("anthropic tool", kinds(text, prefix + "ToolUnion"),
              rule("anthropic", "tool", "cases"), 8)
        judge("anthropic block", kinds(text, prefix + "ContentBlockParam"),
              rule("anthropic", "block", "cases"), 10)
        judge("output_config", fields(text, prefix + "OutputConfig"),
              rule("anthropic", "output_config"), 2)
        for name, of in (("text_block", "TextBlockParam"),
                         ("use_block", "ToolUseBlockParam"),
                         ("result_block", "ToolResultBlockParam"),
                         ("thinking_block", "ThinkingBlockParam"),
                         ("custom_tool", "Tool")):
            judge(prefix + of, fields(text, prefix + of),
                  rule("anthropic", name), 3)


def gemini():
    text = types("@google/genai/dist/genai.d.ts")
    judge("generate", fields(text, "GenerateContentConfig"),
          rule("gemini", "generate") | rule("gemini", "generation"), 25)
    judge("part", fields(text, "Part"), rule("gemini", "part"), 8)
    judge("gemini tool", fields(text, "Tool"), rule("gemini", "tool"), 8)
    judge("tool_config", fields(text, "ToolConfig"),
          rule("gemini", "tool_config"), 2)
    judge("declaration", fields(text, "FunctionDeclaration"),
          rule("gemini", "declaration"), 5)
    parts = FILES["gemini"]["rules"]["function_response"]["fields"]["parts"]
    judge("function_response", fields(text, "FunctionResponse"),
          rule("gemini", "function_response"), 4)
    judge("function_response part", fields(text, "FunctionResponsePart"),
          set(parts["items"]["fields"]), 1)


openai()
anthropic()
gemini()
harness.finish()
