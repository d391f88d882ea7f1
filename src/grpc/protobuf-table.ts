/**
 * The notation protobuf packages are kept in: a few kilobytes of text instead of generated descriptor code, turned into
 * descriptors only when the first call is made.
 *
 * A message is a text of fields separated by blanks, `name:number:type[:conversion]`; a type is a scalar, a message or
 * enum of the same package, a full name starting with a dot, `[]type` or `map<string,type>`. The conversion `ns` turns
 * a 64-bit nanosecond time into milliseconds and appends `Ms` to the name, `seconds` only appends `Seconds`.
 */

/** A protobuf package as texts. */
export interface ProtobufTable {
  readonly package: string;
  /** Names of values in order from 0. */
  readonly enums: Readonly<Record<string, string>>;
  readonly messages: Readonly<Record<string, string>>;
  /** Per service, per method: input and output type; `stream ` before a type. */
  readonly services: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** How a field's value differs between wire and our types. */
export type FieldConversion = '' | 'ns' | 'seconds';

/** One field of a table's message. */
export interface TableField {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly conversion: FieldConversion;
}

/** Splits a message's text into its fields. */
export function parseFields(text: string): readonly TableField[] {
  if (text === '') return [];
  return text.split(' ').map((part) => {
    const [name = '', number = '', type = '', conversion = ''] = part.split(':');
    return { name, number: Number(number), type, conversion: conversion as FieldConversion };
  });
}

/** The field's name in our types. */
export function plainFieldName(field: TableField): string {
  const camel = field.name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  if (field.conversion === 'ns') return `${camel}Ms`;
  return field.conversion === 'seconds' ? `${camel}Seconds` : camel;
}
