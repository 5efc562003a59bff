# -*- coding: utf-8 -*-
from __future__ import absolute_import, unicode_literals

import json  # want python/unused-import


class Old(object):
    def __init__(self):
        super(Old, self).__init__()
