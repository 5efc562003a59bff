// Checks of results, and the mending of a refused call from its error alone.

import assert from 'node:assert/strict';

/** The content of a result; checks that text and structure say the same. */
function contentOf(result) {
  assert.equal(result.content.length, 1, 'one text block');
  assert.equal(result.content[0].type, 'text');
  assert.equal(result.structuredContent, undefined, 'nothing is answered twice');
  return JSON.parse(result.content[0].text);
}

/** The content of a result that must be a success. */
export function success(result) {
  const content = contentOf(result);
  assert.ok(!result.isError, `a success, not ${JSON.stringify(content)}`);
  return content;
}

/** The error of a result that must be a failure. */
export function failure(result) {
  const content = contentOf(result);
  assert.equal(result.isError, true, `a failure, not ${JSON.stringify(content)}`);
  assert.match(content.error.code, /^[A-Z_]+$/);
  assert.ok(content.error.message, 'a message');
  return content.error;
}

/**
 * Applies an error's problems to the arguments it refused: misspelt names get
 * the suggested one, everything else its value from the error's example.
 */
export function mend(args, { problems, example }) {
  const call = { ...args, params: { ...args.params } };
  const examples = { ...example.params, ...example };
  for (const problem of problems) {
    const [, first, second] = problem.path.split('/');
    const [mended, name] = first === 'params' ? [call.params, second] : [call, first];
    if (problem.kind === 'unknown' || problem.kind === 'stray') {
      if (problem.suggest) mended[problem.suggest] = mended[name];
      delete mended[name];
    } else if (problem.suggest) {
      mended[name] = problem.suggest;
    } else if (name in examples) {
      mended[name] = examples[name];
    } else {
      delete mended[name];
    }
  }
  return call;
}
