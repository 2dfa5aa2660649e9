// SPDX-License-Identifier: Apache-2.0
import { parse, parseDocument } from "yaml";

export function toJson({ text }) {
	return parse(text);
}

export function setValue({ text, key, value }) {
	const document = parseDocument(text);

	document.set(key, value);
	return String(document);
}
