// Extracts the facts of the Gateway API's standard channel (types, required fields, defaults, limits, rules) from the
// CustomResourceDefinitions of a checkout of kubernetes-sigs/gateway-api, without their texts, and writes
// src/gateway/gateway-api/gen/definitions.ts.
//
//   node tools/gateway-api-definitions.ts CHECKOUT/config/crd/standard VERSION
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { repositoryRoot } from './repository.ts';

const KINDS = [
  'gatewayclasses',
  'gateways',
  'httproutes',
  'grpcroutes',
  'tlsroutes',
  'backendtlspolicies',
  'referencegrants',
];

type Json = Record<string, unknown>;

interface Definition {
  readonly spec: {
    readonly names: Json;
    readonly scope: string;
    readonly versions: readonly (Json & {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Json };
    })[];
  };
}

/** Descriptions are prose, everything else of a schema is a fact. Below `properties` a field may itself be called description. */
function withoutTexts(value: unknown, isProperties = false): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutTexts(one));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([name, own]) => isProperties || name !== 'description' || typeof own !== 'string',
  );
  return Object.fromEntries(
    kept.map(([name, own]) => [name, withoutTexts(own, !isProperties && name === 'properties')]),
  );
}

function main(folder: string, version: string): void {
  const lines: string[] = [];
  for (const plural of KINDS) {
    const { spec } = parse(
      readFileSync(join(folder, `gateway.networking.k8s.io_${plural}.yaml`), 'utf8'),
    ) as Definition;
    // Versions that are no longer served only matter for clusters that stored them.
    const served = spec.versions.filter(({ served: isServed }) => isServed === true);
    const schemas = served.map(({ schema }) => JSON.stringify(withoutTexts(schema.openAPIV3Schema)));
    if (new Set(schemas).size > 1) throw new Error(`${plural}: its versions differ`);
    const versions = served.map(({ name, storage, additionalPrinterColumns, subresources }) => ({
      name,
      served: true,
      storage,
      additionalPrinterColumns,
      subresources,
    }));
    const facts = { names: spec.names, scope: spec.scope, versions };
    lines.push(`  { ...${JSON.stringify(facts)}, schema: ${schemas[0]} },`);
  }
  const text = `// Written by tools/gateway-api-definitions.ts. Facts about kubernetes-sigs/gateway-api ${version}, standard channel.
import type { DefinitionFacts } from '../definition-facts.ts';

export const GATEWAY_API_VERSION = ${JSON.stringify(version)};

export const gatewayApiFacts: readonly DefinitionFacts[] = [
${lines.join('\n')}
];
`;
  writeFileSync(join(repositoryRoot, 'src/gateway/gateway-api/gen/definitions.ts'), text);
}

const [folder, version] = process.argv.slice(2);
if (folder === undefined || version === undefined) throw new Error('usage: gateway-api-definitions.ts FOLDER VERSION');
main(folder, version);
