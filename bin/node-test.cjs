'use strict';
// `keelson/testing/node-test`: loaded before node:test (`node --import keelson/testing/node-test --test`), it keeps node:test
// from following every promise and timer of the process with an async hook, which more than doubles the processor time of a
// cluster on a virtual clock. The hook keeps to resources of type Test, by which node:test knows the suite that a test or a
// hook stands in. Lost is the name of the test that an error came from that nobody awaited: such an error is printed here, and
// still fails the run.
const hooks = require('node:async_hooks');
const { syncBuiltinESMExports } = require('node:module');

const create = hooks.createHook;

hooks.createHook = (callbacks) => {
  // Hooks of the program are none of this.
  if (!isMadeByNodeTest()) return create(callbacks);
  const { init } = callbacks;
  return create({
    init: (...event) => void (event[1] === 'Test' && init?.(...event)),
    trackPromises: false,
  });
};
syncBuiltinESMExports();

function isMadeByNodeTest() {
  return (new Error('where').stack ?? '').includes('node:internal/test_runner/');
}

process.on('uncaughtExceptionMonitor', (error) => console.error(error));
// Also before the first test: node:test listens only then, and to be listened to is what keeps Node.js from ending.
process.on('unhandledRejection', (reason) => {
  console.error(reason);
  process.exitCode = 1;
});
