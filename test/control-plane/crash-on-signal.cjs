// Preloaded into a keelson under test: SIGUSR2 ends it in the way that KEELSON_CRASH names.
'use strict';

const crashes = {
  throw: () => setImmediate(() => throwUnexpected()),
  reject: () => void Promise.reject(new Error('a promise that nobody awaits')),
  memory: () => setImmediate(() => takeAllMemory()),
};

function throwUnexpected() {
  throw new TypeError('an error that nobody caught');
}

function takeAllMemory() {
  for (const taken = []; ;) taken.push({ x: Math.random(), y: [1, 2, 3] });
}

process.on('SIGUSR2', () => crashes[process.env.KEELSON_CRASH]());
