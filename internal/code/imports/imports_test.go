package imports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/code/imports"
)

// unpack extracts an archive to a temporary folder.
func unpack(t *testing.T, archive string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func arrows(g *imports.Graph) (list string) {
	for _, a := range g.Arrows {
		list += fmt.Sprintf("%s:%d %s\n", a.From, a.Line, a.To)
	}
	return list
}

func TestArrows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, folder, files, want string
		outside, lost, tests      int
		computed                  int
	}{{
		name: "modules of Go, one in another, are told apart", folder: ".",
		files: `
-- go.mod --
module example.com/shop // the shop
-- main.go --
package main

import (
	"fmt"
	"example.com/shop/domain"
	_ "example.com/shop/tools/gen"
	"example.com/shopping"
	"example.com/shop/generated"
)
-- domain/a.go --
package domain

// import "example.com/shop/infra"
const text = "import \"example.com/shop/infra\""
-- domain/a_test.go --
package domain

import "example.com/shop/infra"
-- infra/a.go --
package infra

import d "example.com/shop/domain"
-- tools/go.mod --
module example.com/shop/tools
-- tools/gen/a.go --
package gen

import "example.com/shop/infra"
-- vendor/example.com/other/a.go --
package other

import "example.com/shop/infra"
`,
		want: "main.go:5 domain\nmain.go:6 tools/gen\ninfra/a.go:3 domain\ntools/gen/a.go:3 infra\n", lost: 1, tests: 1,
	}, {
		name: "a folder of a module", folder: "app",
		files: `
-- go.mod --
module m
-- lib/a.go --
package lib
-- app/x/a.go --
package x

import (
	"m/app/y"
	"m/lib"
)
-- app/y/a.go --
package y
`,
		want: "app/x/a.go:4 app/y\n", outside: 1,
	}, {
		name: "scripts by paths, endings and indexes", folder: ".",
		files: `
-- src/main.ts --
import { a } from './a/index.js'
import type { B } from "./b"
export * from './c'
const lazy = () => import('./d')
const old = require("./e.js")
import './style.css'
import Panel from './Panel.vue'
import gone from './nowhere/gone'
import out from '../../else'
import react from 'react'
import(name)
-- src/a/index.ts --
// import '../b'
const text = "import x from '../b'" + ` + "`import y from '../b'`" + ` + /import '..\/b'/.source
-- src/b.d.ts --
export type B = string
-- src/c.tsx --
export const C = () => <p>it's import x from './b' here</p>
export const load = () => import('./b')
-- src/d/index.jsx --
-- src/e.ts --
-- src/e.spec.ts --
import './b'
-- node_modules/react/index.js --
import '../../src/main'
`,
		want: "src/c.tsx:2 src/b.d.ts\nsrc/main.ts:1 src/a/index.ts\nsrc/main.ts:2 src/b.d.ts\nsrc/main.ts:3 src/c.tsx\n" +
			"src/main.ts:4 src/d/index.jsx\nsrc/main.ts:5 src/e.ts\nsrc/main.ts:7 src\nsrc/main.ts:8 src\n", outside: 1, tests: 1, computed: 1,
	}, {
		name: "scripts by what is configured", folder: ".",
		files: `
-- tsconfig.base.json --
{"compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["libs/*/src"], "@lib/special": ["./libs/one/src/special.ts"],}}} // trailing comma
-- apps/web/tsconfig.json --
{"extends": "../../tsconfig.base"}
-- apps/web/package.json --
{"name": "web", "imports": {"#inner/*": "./inner/*.ts", "#other": {"default": "./x.ts"}}}
-- apps/web/a.ts --
import '@lib/one'
import '@lib/special'
import 'libs/two/src/index'
import '#inner/x'
import '@acme/two'
import '@acme/two/deep/x'
import '@acme/three'
import '@/unknown'
import '/public.svg'
-- apps/web/inner/x.ts --
-- libs/one/src/index.ts --
-- libs/one/src/special.ts --
-- libs/two/package.json --
{"name": "@acme/two"}
-- libs/two/src/index.ts --
-- libs/two/deep/x.ts --
`,
		want: "apps/web/a.ts:1 libs/one/src/index.ts\napps/web/a.ts:2 libs/one/src/special.ts\napps/web/a.ts:3 libs/two/src/index.ts\n" +
			"apps/web/a.ts:4 apps/web/inner/x.ts\napps/web/a.ts:5 libs/two/src/index.ts\napps/web/a.ts:6 libs/two/deep/x.ts\n", lost: 1,
	}, {
		name: "Python by packages, dots and a src folder", folder: ".",
		files: `
-- src/shop/__init__.py --
-- src/shop/domain/__init__.py --
from .order import Order
-- src/shop/domain/order.py --
"""import shop.infra.db"""
# import shop.infra.db
import logging, typing
if typing.TYPE_CHECKING:
    from shop.infra import db as database, cache
def late():
    text = "from shop.infra import db"
    from ..infra.db import Session  # noqa
    import shop.infra.cache as c
    raise ValueError from None
-- src/shop/infra/__init__.py --
-- src/shop/infra/db.py --
from shop.domain import (
    Order,
    order,
)
from . import cache
from shop.generated.api import x
import requests, redis.asyncio
from ... import above
-- src/shop/infra/cache.py --
-- src/shop/infra/logging.py --
-- src/shop/infra/redis.py --
-- scripts/run.py --
from shop.domain.order import Order
import shop
-- tests/test_order.py --
import shop.infra.db
-- src/shop/conftest.py --
import shop.infra.db
`,
		want: "scripts/run.py:1 src/shop/domain/order.py\nscripts/run.py:2 src/shop/__init__.py\n" +
			"src/shop/domain/__init__.py:1 src/shop/domain/order.py\n" +
			"src/shop/domain/order.py:5 src/shop/infra/db.py\nsrc/shop/domain/order.py:5 src/shop/infra/cache.py\n" +
			"src/shop/domain/order.py:8 src/shop/infra/db.py\nsrc/shop/domain/order.py:9 src/shop/infra/cache.py\n" +
			"src/shop/infra/db.py:1 src/shop/domain/__init__.py\nsrc/shop/infra/db.py:1 src/shop/domain/order.py\n" +
			"src/shop/infra/db.py:5 src/shop/infra/cache.py\nsrc/shop/infra/db.py:6 src/shop\nsrc/shop/infra/db.py:8 src\n", tests: 2,
	}, {
		name: "Python without __init__ and a package of another folder", folder: "services",
		files: `
-- services/a/app/main.py --
from app.models import user
from common.log import log
from app import models
import queue
-- services/a/app/queue.py --
-- services/a/app/models/user.py --
-- services/b/app/models/user.py --
-- services/libs/common/__init__.py --
-- services/libs/common/log.py --
`,
		want: "services/a/app/main.py:1 services/a/app/models/user.py\nservices/a/app/main.py:2 services/libs/common/log.py\n" +
			"services/a/app/main.py:3 services/a/app/models\n",
	}} {
		g, err := imports.Read(t.Context(), unpack(t, test.files), test.folder)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(strings.Split(test.want, "\n"), strings.Split(arrows(g), "\n")); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
		got, want := []int{g.Outside, g.Lost, g.Tests, g.Computed}, []int{test.outside, test.lost, test.tests, test.computed}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: outside, lost, tests, computed: %s", test.name, diff)
		}
	}
}

func TestUnreadFiles(t *testing.T) {
	t.Parallel()
	dir := unpack(t, `
-- .gitignore --
gen/
-- a.go --
package a
-- gen/a.go --
package gen
-- broken/a.go --
not Go
-- half/a.ts --
import './b'
const a = [;
-- half/b.ts --
-- page.vue --
<template/>
`)
	g, err := imports.Read(t.Context(), dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	if got := arrows(g); got != "half/a.ts:1 half/b.ts\n" || len(g.Files) != 3 {
		t.Errorf("%d files, %s", len(g.Files), got)
	}
	var skipped []string
	for _, s := range g.Skipped {
		skipped = append(skipped, s.Path)
	}
	for _, want := range []string{"broken/a.go", "half/a.ts", "**/*.vue"} {
		if !strings.Contains(strings.Join(skipped, " "), want) {
			t.Errorf("%s is not named in %q", want, skipped)
		}
	}
	for _, folder := range []string{"..", "/", "none", "a.go"} {
		if _, err := imports.Read(t.Context(), dir, folder); err == nil {
			t.Errorf("%s was read", folder)
		}
	}
}

// Configuration files may form cycles, or refer to folders that do not exist.
func TestHostileConfiguration(t *testing.T) {
	t.Parallel()
	dir := unpack(t, `
-- tsconfig.json --
{"extends": "./tsconfig.json", "compilerOptions": {"baseUrl": "../..", "paths": {"*": ["../../*", "/*"], "a*b": ["x"], "": [""]}}}
-- package.json --
{"name": ".", "imports": {"#x": "./../../x", "*": "./*"}}
-- go.mod --
module
-- a.ts --
import ''
import '/'
import '//x'
import '..'
import 'ab'
import '#x'
import '.'
import './'
-- a.py --
from .. import x
from . import *
import a
-- a.go --
package a

import "."
`)
	g, err := imports.Read(t.Context(), dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range g.Arrows {
		if a.To != "a.ts" && a.To != "a.py" && a.To != "." {
			t.Errorf("%s leads to %s", a.From, a.To)
		}
	}
}
