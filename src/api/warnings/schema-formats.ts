/** Warnings of formats that are not checked. Upstream: registry/customresourcedefinition/strategy.go. */
import { quote } from '../../base/go-quote.ts';
import type { CustomResourceDefinition, JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { isKnownFormat } from '../json-schema/formats.ts';
import { partsOf } from '../validation/definition-budget.ts';

function collect(schema: JSONSchemaProps, found: Set<string>): void {
  const { type = '', format = '' } = schema;
  if (format !== '' && !isKnownFormat(type, format)) found.add(format);
  for (const part of partsOf(schema)) collect(part, found);
}

function unknownFormats({ spec }: CustomResourceDefinition): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { schema } of spec?.versions ?? []) collect(schema?.openAPIV3Schema ?? {}, found);
  return found;
}

/** One for each unknown format; on updates for those the definition did not have before. */
export function unknownFormatWarnings(definition: CustomResourceDefinition, old?: CustomResourceDefinition): string[] {
  const existing = old === undefined ? new Set<string>() : unknownFormats(old);
  return [...unknownFormats(definition)]
    .filter((format) => !existing.has(format))
    .map((format) => `unrecognized format ${quote(format)}`);
}
