/** protobuf-es descriptors of `ProtobufTable`s: an implementation of protobuf that is not ours, for tests of our codec. */
import { create, createFileRegistry, type DescMessage, type DescService, type FileRegistry } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { parseFields, type ProtobufTable, type TableField } from './protobuf-table.ts';

const scalarTypes: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  double: FieldDescriptorProto_Type.DOUBLE,
  int64: FieldDescriptorProto_Type.INT64,
  uint64: FieldDescriptorProto_Type.UINT64,
  int32: FieldDescriptorProto_Type.INT32,
  uint32: FieldDescriptorProto_Type.UINT32,
  bool: FieldDescriptorProto_Type.BOOL,
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
};

function typeOf(type: string, table: ProtobufTable): { type: FieldDescriptorProto_Type; typeName?: string } {
  const scalar = scalarTypes[type];
  if (scalar !== undefined) return { type: scalar };
  const kind = Object.hasOwn(table.enums, type) ? FieldDescriptorProto_Type.ENUM : FieldDescriptorProto_Type.MESSAGE;
  return { type: kind, typeName: type.startsWith('.') ? type : `.${table.package}.${type}` };
}

function entryName(field: TableField): string {
  const camel = field.name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
  return `${camel}Entry`;
}

function fieldInit(field: TableField, message: string, table: ProtobufTable) {
  const base = { name: field.name, number: field.number, jsonName: field.name };
  if (field.type.startsWith('map<')) {
    const typeName = `.${table.package}.${message}.${entryName(field)}`;
    return { ...base, label: FieldDescriptorProto_Label.REPEATED, type: FieldDescriptorProto_Type.MESSAGE, typeName };
  }
  const repeated = field.type.startsWith('[]');
  const label = repeated ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL;
  return { ...base, label, ...typeOf(repeated ? field.type.slice(2) : field.type, table) };
}

function mapEntry(field: TableField) {
  const label = FieldDescriptorProto_Label.OPTIONAL;
  const type = FieldDescriptorProto_Type.STRING;
  return {
    name: entryName(field),
    options: { mapEntry: true },
    field: [
      { name: 'key', number: 1, label, type, jsonName: 'key' },
      { name: 'value', number: 2, label, type, jsonName: 'value' },
    ],
  };
}

function methodInit(name: string, text: string, table: ProtobufTable) {
  const match = /^(stream )?(\S+) (stream )?(\S+)$/.exec(text);
  if (match === null) throw new Error(`method ${name}: ${text}`);
  const full = (type: string | undefined): string => (type?.startsWith('.') ? type : `.${table.package}.${type}`);
  return {
    name,
    inputType: full(match[2]),
    outputType: full(match[4]),
    clientStreaming: match[1] !== undefined,
    serverStreaming: match[3] !== undefined,
  };
}

function fileOf(table: ProtobufTable, dependency: readonly string[]) {
  return create(FileDescriptorProtoSchema, {
    name: `${table.package}.proto`,
    package: table.package,
    syntax: 'proto3',
    dependency: [...dependency],
    enumType: Object.entries(table.enums).map(([name, values]) => ({
      name,
      value: values.split(' ').map((value, number) => ({ name: value, number })),
    })),
    messageType: Object.entries(table.messages).map(([name, text]) => {
      const fields = parseFields(text);
      return {
        name,
        field: fields.map((field) => fieldInit(field, name, table)),
        nestedType: fields.filter((field) => field.type.startsWith('map<')).map(mapEntry),
      };
    }),
    service: Object.entries(table.services).map(([name, methods]) => ({
      name,
      method: Object.entries(methods).map(([method, text]) => methodInit(method, text, table)),
    })),
  });
}

/** The descriptors of one table. `dependencies`: built tables whose types it uses. */
export function buildDescriptors(table: ProtobufTable, dependencies: readonly FileRegistry[] = []): FileRegistry {
  const known = new Map(
    dependencies.flatMap((registry) => [...registry.files]).map((file) => [`${file.name}.proto`, file]),
  );
  return createFileRegistry(fileOf(table, [...known.keys()]), (name) => known.get(name));
}

/** A message's descriptor; throws when the table has none of that name. */
export function messageOf(registry: FileRegistry, name: string): DescMessage {
  const message = registry.getMessage(name);
  if (message === undefined) throw new Error(`no protobuf message ${name}`);
  return message;
}

/** A service's descriptor; throws when the table has none of that name. */
export function serviceOf(registry: FileRegistry, name: string): DescService {
  const service = registry.getService(name);
  if (service === undefined) throw new Error(`no protobuf service ${name}`);
  return service;
}
