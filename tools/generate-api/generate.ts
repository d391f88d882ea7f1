// All generated files of src/api/gen, by name.

import { emitResources } from './emit-resources.ts';
import { emitSchema } from './emit-schema.ts';
import { emitTypes } from './emit-types.ts';
import { loadFacts } from './facts.ts';

/** Renders the files from the facts at `factsPath`. */
export function generate(factsPath: string): Map<string, string> {
  const facts = loadFacts(factsPath);
  const files = emitTypes(facts);
  files.set('resources.ts', emitResources(facts));
  files.set('schema-data.json', emitSchema(facts));
  return files;
}
