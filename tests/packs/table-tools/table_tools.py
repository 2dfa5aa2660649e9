# SPDX-License-Identifier: Apache-2.0
import tabulate


def layout(rows, headers=()):
    return {"text": tabulate.tabulate(rows, headers=list(headers))}
