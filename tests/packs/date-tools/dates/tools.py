# SPDX-License-Identifier: Apache-2.0
from dateutil import parser, relativedelta


def parse(text):
    return {"date": parser.parse(text).isoformat()}


async def add_months(text, months):
    moved = parser.parse(text) + relativedelta.relativedelta(months=months)
    return {"date": moved.date().isoformat()}
