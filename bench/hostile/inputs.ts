// The most expensive inputs of each kind, as large as the server accepts.
import type { HostileInput } from './bodies.ts';
import { answerInputs } from './answer-inputs.ts';
import { customInputs } from './custom-inputs.ts';
import { readInputs } from './read-inputs.ts';
import { yamlInputs } from './yaml-inputs.ts';
import { jsonInputs } from './json-inputs.ts';
import { textInputs } from './text-inputs.ts';
import { protobufInputs } from './protobuf-inputs.ts';
import { resourceInputs } from './resource-inputs.ts';

export const inputs = (): HostileInput[] => [
  ...jsonInputs(),
  ...yamlInputs(),
  ...protobufInputs(),
  ...textInputs(),
  ...resourceInputs(),
  ...customInputs(),
  ...readInputs(),
  ...answerInputs(),
];
