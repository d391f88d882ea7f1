// Loaded before node:test, which otherwise follows every promise and timer of the process (an async hook) to know which
// test an error came from that nobody awaited: a sixth of the time of tests on a virtual clock. Without it such an error
// still fails the run, only not its test; so it is printed here.
import hooks from 'node:async_hooks';

const idle: hooks.AsyncHook = { enable: () => idle, disable: () => idle };

hooks.createHook = () => idle;
process.on('uncaughtExceptionMonitor', (error) => console.error(error));
// Also before the first test: node:test listens only then, and to be listened to is what keeps Node.js from ending.
process.on('unhandledRejection', (reason) => {
  console.error(reason);
  process.exitCode = 1;
});
