#!/usr/bin/env node
// Makes a checkout able to run: installs Node.js 24, npm dependencies and Debian packages, then runs the given command with that
// Node.js. It runs on any Node.js >= 20 with nothing installed. Components that are present are neither changed nor mentioned.
// The durations of the phases are passed to the command in KEELSON_SETUP (JSON: phases, durationMs).
//
//   node tools/bootstrap.mjs [--for up|test|unit] -- COMMAND...
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ensureDependencies } from './bootstrap/dependencies.mjs';
import { ensureKubectl } from './bootstrap/kubectl.mjs';
import { ensureNode } from './bootstrap/node.mjs';
import { ensurePackages, packagesFor } from './bootstrap/packages.mjs';
import { SetupError, createPhases } from './bootstrap/phases.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Splits the command line.
 * @param {string[]} args everything after the script's name
 * @returns {{ purpose: 'up' | 'test' | 'unit', command: string[] }}
 * @throws SetupError with the usage
 */
export function parseArguments(args) {
  const usage = 'usage: node tools/bootstrap.mjs [--for up|test|unit] -- COMMAND...';
  const end = args.indexOf('--');
  const options = end < 0 ? args : args.slice(0, end);
  let purpose = 'unit';
  for (let index = 0; index < options.length; index += 2) {
    if (options[index] !== '--for' || !Object.hasOwn(packagesFor, options[index + 1] ?? ''))
      throw new SetupError(usage);
    purpose = options[index + 1];
  }
  return { purpose, command: end < 0 ? [] : args.slice(end + 1) };
}

/** The reason why this user cannot use a purpose; undefined when they can. */
export function refusal(purpose, uid) {
  if (packagesFor[purpose].length === 0 || uid === 0) return undefined;
  return purpose === 'up'
    ? 'real pods need root: run "sudo npm run up", or "bin/keelson up --simulate" for a control plane with a simulated node'
    : 'the integration tests run real containers and need root: run "sudo npm test", or "npm run test:unit" without';
}

/** The environment in which `node` and `npm` are the given Node.js, also for processes that the command starts. */
export function environmentFor(node, { env = process.env, phases = [], durationMs = 0 } = {}) {
  const folders = [dirname(node), join(root, 'node_modules', '.bin'), ...(env.PATH ?? '').split(':')];
  const path = [...new Set(folders.filter((folder) => folder !== ''))].join(':');
  return {
    // Clusters of tests, benches and tools are not added to the user's kubeconfig.
    KEELSON_WRITE_KUBECONFIG: 'none',
    ...env,
    PATH: path,
    NODE: node,
    npm_node_execpath: node,
    KEELSON_SETUP: JSON.stringify({ phases, durationMs }),
  };
}

/**
 * Does the whole set-up for a purpose; Debian packages and npm's are fetched at the same time. Returns the Node.js to use and the
 * phases.
 */
export async function setUp(purpose) {
  const startedMs = performance.now();
  const phases = createPhases();
  let node = process.execPath;
  const javascript = async () => {
    await phases.run('Node.js', async (progress) => {
      const found = await ensureNode({ root, progress });
      node = found.node;
      return found.result;
    });
    await phases.run('npm dependencies', (progress) => ensureDependencies({ root, node, progress }));
    if (purpose === 'test') await phases.run('kubectl and helm', (progress) => ensureKubectl({ root, node, progress }));
  };
  const packages = phases.run('Debian packages', (progress) => ensurePackages({ purpose, progress }));
  const results = await Promise.allSettled([javascript(), packages]);
  const failures = results.filter(({ status }) => status === 'rejected').map(({ reason }) => reason);
  if (failures.length > 1) throw new SetupError(failures.map((failure) => failure.message).join('\n'));
  if (failures.length === 1) throw failures[0];
  return { node, phases: phases.done, durationMs: performance.now() - startedMs };
}

// Node 20 cannot replace its process image, so the command is a child: signals are forwarded, and its exit status is ours.
function become(command, env) {
  const child = spawn(command[0], command.slice(1), { env, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(new SetupError(`cannot run ${command[0]}: ${error.message}`)));
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}

function fail(error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exit(1);
}

async function main(args) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  const { purpose, command } = parseArguments(args);
  const refused = refusal(purpose, process.getuid?.());
  if (refused) throw new SetupError(refused);
  const { node, phases, durationMs } = await setUp(purpose);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal);
  if (command.length > 0) become(command, environmentFor(node, { phases, durationMs }));
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  main(process.argv.slice(2)).catch(fail);
