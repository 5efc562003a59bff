package script_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// programOf is a generator of programs. A program returns the ids of all its writes.
type programOf struct {
	*rand.Rand
	text  strings.Builder
	names int
}

// prologue has the functions of generated programs. A program makes at most 40 calls, so that loops in
// loops end.
const prologue = `const ids = []; let left = 40;
const spent = () => left-- <= 0;
const add = () => { if (spent()) return Promise.resolve(); const id = "w" + ids.length; ids.push(id); return shop.add({id}) };
const get = () => spent() ? Promise.resolve({n: 0}) : shop.get({id: "g"});
const set = () => spent() ? Promise.resolve() : shop.set({id: "s"});
const refuse = () => spent() ? Promise.reject(new Error("spent")) : shop.refuse({id: "no"});
const sub = async () => { if (spent() || spent()) return; const id = "w" + ids.length; ids.push(id); return scripts.sub({id}) };
async function* steps(n) { for (let i = 0; i < n; i++) { await (i % 2 ? set() : add()); yield i } }
const down = async n => { if (n > 0) { await add(); await down(n - 1) } };
`

// generate returns the program of a seed.
func generate(seed uint64) string {
	g := &programOf{Rand: rand.New(rand.NewPCG(seed, 1))}
	g.text.WriteString(prologue)
	g.block(3)
	g.text.WriteString("return ids")
	return g.text.String()
}

// block writes some statements, which nest at most depth deep.
func (g *programOf) block(depth int) {
	for range 1 + g.IntN(3) {
		g.statement(depth)
	}
}

func (g *programOf) statement(depth int) {
	simple := []string{
		"await add();", "add();", "await sub();", "sub();", "await Promise.all([sub(), sub(), get()]);", "await Promise.race([sub(), get()]);",
		"await set();", "await get();", "await sleep(1);", "await down(2);",
		"await Promise.any([refuse(), add()]);", "await Promise.race([add(), sleep(2)]);", "await Promise.race([get(), add(), set()]);",
		"await Promise.allSettled([add(), refuse(), get(), add()]);", "if (!spent()) await scripts.confirm('Go on?');",
		"setTimeout(() => add(), 1);", "add().then(() => add());",
		"for await (const i of steps(3)) if (i === 1) await add();", "await Promise.all(Array.from({length: 18}, add));",
	}
	if depth == 0 || g.IntN(3) == 0 {
		g.text.WriteString(simple[g.IntN(len(simple))] + "\n")
		return
	}
	within := func(format string) {
		parts := strings.Split(format, "…")
		for i, part := range parts {
			g.text.WriteString(part)
			if i < len(parts)-1 {
				g.block(depth - 1)
			}
		}
		g.text.WriteString("\n")
	}
	g.names++
	n := strconv.Itoa(g.names)
	switch g.IntN(10) {
	case 0:
		within("for (let i" + n + " = 0; i" + n + " < " + strconv.Itoa(1+g.IntN(3)) + "; i" + n + "++) {…}")
	case 1:
		within("if ((await get()).n % 2) {…} else {…}")
	case 2:
		within("if (Math.random() < 0.5) {…} else {…}")
	case 3:
		within("if (Date.now() % 2) {…} else {…}")
	case 4:
		within("await Promise.all([(async () => {…})(), (async () => {…})()]);")
	case 5:
		within(`await Promise.race([(async () => {…})(), (async () => {…})()]);`)
	case 6:
		within(`try { await refuse(); … } catch (e) {…}`)
	case 7:
		within(`try { await add(); throw new Error("own") } catch {…} finally {…}`)
	case 8:
		within(`await Promise.allSettled([(async () => {… throw new Error("own")})(), get(), (async () => {…})()]);`)
	case 9:
		within(`(async () => {…})();`)
	}
}

// Programs of any form lose and repeat no write, wherever they die. TOOLFOLD_PROGRAMS sets their number.
func TestGeneratedWritesOnce(t *testing.T) {
	t.Parallel()
	number := 20
	if text := os.Getenv("TOOLFOLD_PROGRAMS"); text != "" {
		var err error
		if number, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	deaths := make(chan int, 8*number)
	t.Run("programs", func(t *testing.T) {
		for seed := range uint64(number) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				program, random := generate(seed), rand.New(rand.NewPCG(seed, 2))
				for round := range 4 {
					s := &shop{
						random: rand.New(rand.NewPCG(seed, uint64(round))), done: map[string]int{}, sets: map[string]int{}, lose: round%2 == 1,
						library: &versions{source: "await shop.get({id: 'g'}); return shop.add({id: input.id}) // VERSION"},
					}
					if s.once(t, program, 1+random.IntN(12), round < 2) {
						continue // it ended before it died
					}
					deaths <- 1
				}
			})
		}
	})
	if n := len(deaths); n < number {
		t.Errorf("only %d deaths of %d programs", n, number)
	}
}
