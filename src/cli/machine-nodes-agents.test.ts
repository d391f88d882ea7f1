/** The arguments of the agents of a machine's further nodes. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import type { RawServerOptions } from './cluster-options.ts';
import { parseMachineNodes } from './machine-nodes.ts';

const argsWith = (raw: Partial<RawServerOptions>): string =>
  parseMachineNodes(
    { nodes: '2', logLevel: 'info', ...raw } as RawServerOptions,
    { nodeName: 'a' } as never,
  )!.agentArgs.join(' ');

test('a relative --kubelet-config is the same file for nodes, which start in another folder', () => {
  assert.match(argsWith({ kubeletConfig: 'k.yaml' }), new RegExp(`--kubelet-config ${resolve('k.yaml')}( |$)`));
});

test('--registry holds for all nodes', () => {
  assert.match(argsWith({ registry: true }), /--registry 5001( |$)/);
  assert.match(argsWith({ registry: '5002' }), /--registry 5002( |$)/);
  for (const registry of [undefined, 'false']) assert.doesNotMatch(argsWith({ registry }), /--registry/);
});
