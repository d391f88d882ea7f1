// Finds or fetches the Node.js that Keelson runs on. The machine's own may be older (>= 20 runs this file): then Node 24 is
// fetched from the npm registry, as a pinned package that contains only the program, into the checkout's .cache/. No install
// script runs.
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { SetupError, runProgram } from './phases.mjs';
import { fetchPinned } from '../../bin/fetch/pinned-packages.mjs';

/** The oldest Node.js Keelson runs on: [major, minor]. */
const minimumNode = [24, 15];

/** Whether a version such as `v24.15.0` is recent enough. */
export function nodeIsNewEnough(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number);
  return major > minimumNode[0] || (major === minimumNode[0] && minor >= minimumNode[1]);
}

/** The npm package with the program for a platform; undefined when there is none. */
export function nodePackage(platform, arch) {
  return platform === 'linux' && (arch === 'x64' || arch === 'arm64') ? `node-linux-${arch}` : undefined;
}

/** The path of the fetched program in a checkout, whether or not it is there; undefined when no package has it. */
export function fetchedNodePath(root, { platform = process.platform, arch = process.arch } = {}) {
  const name = nodePackage(platform, arch);
  return name && join(root, '.cache', 'node24', 'node_modules', name, 'bin', 'node');
}

/** The command and leading arguments that run npm with a given Node: the npm that started this process, or the one on PATH. */
export function npmCommand(node, env = process.env) {
  const script = env.npm_execpath;
  return script && /npm-cli\.c?js$/.test(script) && existsSync(script) ? [node, script] : ['npm'];
}

/**
 * The Node.js to use: this process's, or the fetched one.
 * @returns {Promise<{ node: string, result: string }>} its path, and what was done ('' for nothing)
 */
export async function ensureNode({ root, progress, version = process.version }) {
  if (nodeIsNewEnough(version)) return { node: process.execPath, result: '' };
  const node = fetchedNodePath(root);
  const wanted = `Node.js ${minimumNode.join('.')} or newer`;
  if (!node) {
    throw new SetupError(
      `${wanted} is needed; this is ${version}, and ${process.platform}-${process.arch} has no npm package of it`,
    );
  }
  if (await versionOf(node, nodeIsNewEnough)) return { node, result: '' };
  progress(`this is ${version}, fetching ${wanted} from the npm registry`);
  await fetchNode(root);
  const fetched = await versionOf(node, nodeIsNewEnough);
  if (!fetched) throw new SetupError(`${wanted} is needed, and the one fetched to ${node} is not`);
  return { node, result: `${fetched} fetched` };
}

async function versionOf(node, accept) {
  if (!existsSync(node)) return undefined;
  const version = (await runProgram(node, ['--version'])).trim();
  return accept(version) ? version : undefined;
}

// Installed beside its place and renamed, so that an interrupted fetch leaves nothing incomplete.
async function fetchNode(root) {
  const target = join(root, '.cache', 'node24');
  const partial = `${target}.partial-${process.pid}`;
  const name = nodePackage(process.platform, process.arch);
  const place = join(partial, 'node_modules', name);
  try {
    await mkdir(place, { recursive: true });
    const archive = await fetchPinned(name, { folder: partial, npm: npmCommand(process.execPath) });
    await runProgram('tar', ['xzf', archive, '-C', place, '--strip-components=1', '--no-same-owner']);
    await rm(archive);
    await rm(target, { recursive: true, force: true });
    await rename(partial, target);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
