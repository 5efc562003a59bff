# -*- coding: utf-8 -*-
from __future__ import annotations  # want-1 python/coding-comment
import json  # want python/unused-import
import sys


class Old(object):  # want python/object-base
    def __init__(self):
        super(Old, self).__init__()  # want python/super-arguments
        self.argv = sys.argv
