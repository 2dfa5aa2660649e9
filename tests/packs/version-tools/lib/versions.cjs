// SPDX-License-Identifier: Apache-2.0
const semver = require("semver");

exports.newest = async ({ versions, range }) => ({
	newest: semver.maxSatisfying(versions, range),
});
