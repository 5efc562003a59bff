# -*- coding: utf-8 -*-
from __future__ import annotations  # want-1 python/coding-comment
import json  # want python/unused-import
import sys
from os import *  # want python/star-import


class Old(object):  # want python/object-base
    def __init__(self):
        super(Old, self).__init__()  # want python/super-arguments
        self.text = "%s" % sys.argv  # want python/old-format
        self.more = "{}".format(sys.argv)  # want python/old-format
        if self.text == True:  # want python/boolean-comparison
            pass


double = lambda x: x * 2  # want python/lambda-assignment


def many(a, b, c, d, e, f):  # want python/long-parameter-list
    # TODO: fewer  # want python/todo-comment
    return a, b, c, d, e, f


# x = compute()
# for y in x:
#     print(y)
last = 1  # want-3 python/commented-out-code
import late  # want python/late-import

late.run()
