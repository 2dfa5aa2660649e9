// SPDX-License-Identifier: Apache-2.0
import { parse } from "csv-parse/sync";

export function rows({ text }) {
	return parse(text, { columns: true });
}

export function total({ text, column }) {
	return rows({ text })
		.reduce((sum, row) => sum + Number(row[column]), 0);
}
