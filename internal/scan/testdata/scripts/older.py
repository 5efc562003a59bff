# -*- coding: utf-8 -*-
from __future__ import absolute_import, unicode_literals

import sys


class Old(object):
    def __init__(self):
        super(Old, self).__init__()
        self.text = "%s" % sys.argv
        if self.text == True:  # want python/boolean-comparison
            pass
