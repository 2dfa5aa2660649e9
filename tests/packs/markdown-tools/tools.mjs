// SPDX-License-Identifier: Apache-2.0
import { marked } from "marked";

export function render({ text }) {
	return { html: marked.parse(text) };
}

export function headings({ text }) {
	return marked.lexer(text)
		.filter((token) => token.type === "heading")
		.map((token) => ({ level: token.depth, text: token.text }));
}
