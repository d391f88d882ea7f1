// Loaded before node:test, which otherwise follows every promise and timer of the process (an async hook) to know which
// test an error came from that nobody awaited: a sixth of the time of tests on a virtual clock. It keeps to its own tests,
// which is how it knows the suite that a test or a hook stands in. An error that nobody awaited still fails the run, only
// not its test; so it is printed here.
import hooks from 'node:async_hooks';

const create = hooks.createHook;

hooks.createHook = ({ init }) =>
  create({
    init: (...event) => void (event[1] === 'Test' && init?.(...event)),
    trackPromises: false,
  });
process.on('uncaughtExceptionMonitor', (error) => console.error(error));
// Also before the first test: node:test listens only then, and to be listened to is what keeps Node.js from ending.
process.on('unhandledRejection', (reason) => {
  console.error(reason);
  process.exitCode = 1;
});
