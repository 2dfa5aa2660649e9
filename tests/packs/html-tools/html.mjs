// SPDX-License-Identifier: Apache-2.0
import TurndownService from "turndown";

export function toMarkdown({ html }) {
	const service = new TurndownService({ headingStyle: "atx" });

	return service.turndown(html);
}
