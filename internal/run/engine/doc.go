// Package engine runs the steps of agents and workflows: prompts to a model,
// calls of this server's own actions, delegation to agents, conditions, loops
// and parallel branches.
//
// A [Definition] is data. [Compile] checks it, all of it at once, and makes a
// [Program] of it, which a [Runner] runs any number of times. Conditions and
// the placeholders {{ … }} in texts are expressions of expr-lang over input,
// steps, agent and, in loops, item, index and previous. They are compiled
// once, from the definition and never from data, and run under limits of
// work and memory. Their functions have no side effects.
//
// A failing step is a result, because a model learns from it. A run that cannot
// start is an error. Models come from providers in the user's own settings, or
// from the connected client.
//
// The model of a prompt may call actions that its step names before it answers;
// each call is a step of the run.
//
// Limits: 100 steps in a definition, nested 5 deep; a run takes at most
// 10,000 steps and 16 MiB of outputs. A prompt or tool step may take two
// minutes unless it sets timeoutMs, or ten if its model calls tools. Blocks and
// delegations have only the limits of their steps.
package engine
