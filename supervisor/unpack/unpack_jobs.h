/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor may ask of agentnode-unpack, the process that reads
 * foreign archives and file trees. One process does one job at a time; the
 * answer to `work` is `done` (job, result) or `failed` (code, detail), with
 * the id of the request.
 *
 * config: fds[0] is the log, fds[1..roots] are directories (read-only; they
 * come now because nothing can be opened outside of them later).
 * config options: {"roots":0..4, "uid":N?, "timeout_s":1..86400?,
 *   "no_landlock":true?}. Started by root it becomes uid (default: one of
 * its own), so it reads what everybody, or that uid, may read.
 *
 * Every job takes "max_bytes" (file content) and "max_files" (entries) and
 * answers {"hash":"sha256:<64 hex>","files":N,"bytes":N}; the hash is the
 * tree hash of docs/install.md and equal for the same tree in every form.
 *
 * hash_tree      {"root":i,"seal":true?}   no fds; with seal the answer has
 *                "stat":FINGERPRINT too, or "unsealed":WHY (tree_seal.h)
 * stat_tree      {"root":i}               no fds; reads no content; answers
 *                {"stat":FINGERPRINT,"files":N} (tree_stat.h) only
 * send_tree      {"root":i}               fds: out (tree stream)
 * check_tree     {}                       fds: in (foreign tree stream), out
 * tree_to_tar    {}                       fds: in (foreign tree stream), out
 * archive_to_tar {"strip":n?,"prefix":p?,"only":[paths]?,
 *                 "links":[{"path","target"}]?}
 *                                         fds: in (tar, tar.gz, zip), out
 * archive_to_tree  the same, out is a tree stream
 * hash_archive   the same without out; modes are judged as they are, as
 *                hash_tree does: a sealed tree that an engine read out
 * hash_file      {}                       fds: in; only "max_bytes"; answers
 *                                         {"sha256","sha512" (hex),"bytes"}
 * npm_describe   {"root":i,"package":name,"version":v}
 *                                         fds: list (a memfd)
 * pip_describe   the same; both write the dependency list, a JSON array of
 *                {"name","version","integrity"}, to the memfd and answer
 *                {"entry":path in the tree,"count":N}
 * dir_describe   {"root":i,"entry":path?}  no fds; a local folder: answers
 *                {"entry","runner":"node"|"python"}
 * manifest       {"root":i}               no fds; reads agentnode.yaml of a
 *                folder, checks it (supervisor/package/manifest.h) and
 *                answers {"manifest":{...}}
 *
 * pack_folder    {"root":i}               fds: list (a memfd)
 * pack_archive   archive options          fds: in (tar, tar.gz, zip), list;
 *                both judge a package and write what pack_judge.h says
 * pip_report     {}                       fds: in (clean tar of a build),
 *                list; the dependency list of pip's report in it
 * merge          archive options (of the second)
 *                                         fds: in, in (clean tars), out; one
 *                tree of both; a file that is in both is a fault
 *
 * collect        {"max_bytes" (of each text),"max_files","max_total"}
 *                                         fds: list, two outputs of a
 *                command, its result stream (init/result_stream.h), the
 *                tree stream of what it was given; writes what collect.h
 *                says and answers {"complete"}
 *
 * layer          {}                       fds: in (a plain tar, one layer of
 *                an image), out (layer_stream.h); answers {"diff_id",
 *                "entries","bytes","skipped"}
 *
 * A stream of a failed job is cut: no end record, no end-of-archive block.
 * Cleaned trees have directories and 0755 files or 0644 files, owner 0, one
 * fixed mtime, and links that stay inside.
 */
#ifndef SUPERVISOR_UNPACK_JOBS_H
#define SUPERVISOR_UNPACK_JOBS_H

#define UNPACK_JOB_HASH_TREE "hash_tree"
#define UNPACK_JOB_STAT_TREE "stat_tree"
#define UNPACK_JOB_SEND_TREE "send_tree"
#define UNPACK_JOB_CHECK_TREE "check_tree"
#define UNPACK_JOB_TREE_TO_TAR "tree_to_tar"
#define UNPACK_JOB_ARCHIVE_TO_TAR "archive_to_tar"
#define UNPACK_JOB_ARCHIVE_TO_TREE "archive_to_tree"
#define UNPACK_JOB_HASH_FILE "hash_file"
#define UNPACK_JOB_HASH_ARCHIVE "hash_archive"
#define UNPACK_JOB_NPM_DESCRIBE "npm_describe"
#define UNPACK_JOB_PIP_DESCRIBE "pip_describe"
#define UNPACK_JOB_DIR_DESCRIBE "dir_describe"
#define UNPACK_JOB_MANIFEST "manifest"
#define UNPACK_JOB_PACK_FOLDER "pack_folder"
#define UNPACK_JOB_PACK_ARCHIVE "pack_archive"
#define UNPACK_JOB_PIP_REPORT "pip_report"
#define UNPACK_JOB_MERGE "merge"
#define UNPACK_JOB_COLLECT "collect"
#define UNPACK_JOB_LAYER "layer"

#define UNPACK_ROOTS_MAX 4U
#define UNPACK_FILES_MAX 1000000U     /* entries of one tree */
#define UNPACK_BYTES_MAX (1ULL << 40) /* content of one tree */
#define UNPACK_LIST_MAX (8U << 20)    /* a dependency list, bytes */
#define UNPACK_DEPENDENCIES_MAX 5000U
#define UNPACK_HASH_SIZE 72U /* "sha256:" + 64 hex + NUL */

/* Codes of `failed`; detail is one sentence that names the entry. */
#define UNPACK_UNSAFE "tree_unsafe"       /* name, link, device, duplicate */
#define UNPACK_MALFORMED "tree_malformed" /* not what it says it is */
#define UNPACK_CUT "tree_cut"             /* ended before its end */
#define UNPACK_TOO_BIG "tree_too_big"     /* a bound was passed */
#define UNPACK_UNREADABLE "tree_unreadable"
#define UNPACK_DISK_FULL "disk_full"
#define UNPACK_OUTPUT "output_closed" /* nobody reads what we write */
#define UNPACK_TIMEOUT "timeout"
#define UNPACK_PACKAGE "package_invalid" /* describe: what is wrong with it */

#endif
