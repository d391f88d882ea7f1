import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { FinishedSpan } from '../../component-helpers/tracing/tracer.ts';
import type { GrpcCaller } from '../../grpc/grpc-caller.ts';
import { GrpcError } from '../../grpc/grpc-error.ts';
import { createMessageCodec } from '../../grpc/message-codec.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createSpanExporter } from './otlp-exporter.ts';
import { exportRequest } from './otlp-message.ts';
import { otlpTables } from './otlp-table.ts';

const REQUEST = 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest';
const context = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', sampled: true };

const span = (name: string): FinishedSpan => ({
  context,
  parent: { ...context, spanId: '00f067aa0ba902b7', remote: true },
  link: undefined,
  name,
  kind: 'client',
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_001.5,
  attributes: { text: 'value', number: 7, none: '' },
  events: [{ name: 'event', timeMs: 1_700_000_000_001 }],
  error: 'broken',
});

/** A collector whose responses the test sets. */
function rig() {
  const platform = createSimPlatform({});
  const taken: string[][] = [];
  const collector = { answer: (): object => ({}) };
  const codec = createMessageCodec(otlpTables);
  const caller: Pick<GrpcCaller, 'unary' | 'disconnect'> = {
    async unary(_method, request) {
      const answer = collector.answer();
      const sent = codec.decode(REQUEST, codec.encode(REQUEST, request)) as {
        resourceSpans: { scopeSpans: { spans: { name: string }[] }[] }[];
      };
      taken.push(sent.resourceSpans[0]!.scopeSpans[0]!.spans.map(({ name }) => name));
      return answer;
    },
    disconnect: () => undefined,
  };
  const connect = () => Promise.resolve(caller as GrpcCaller);
  const exporter = createSpanExporter({ ...platform, connect }, { 'service.name': 'test' });
  const counted = async (): Promise<string[]> =>
    (await platform.metrics.expose()).split('\n').filter((line) => line.startsWith('keelson_trace'));
  return { clock: platform.clock, exporter, taken, collector, counted };
}

test('spans leave in batches, after five seconds or when there are many', async () => {
  const { clock, exporter, taken, counted } = rig();
  exporter.add(span('a'));
  exporter.add(span('b'));
  await clock.advance(4999);
  assert.deepEqual(taken, []);
  await clock.advance(1);
  assert.deepEqual(taken, [['a', 'b']]);
  for (let index = 0; index < 600; index++) exporter.add(span(`n${index}`));
  await clock.advance(0);
  assert.deepEqual(
    taken.map(({ length }) => length),
    [2, 512, 88],
  );
  assert.deepEqual(await counted(), ['keelson_trace_spans_exported_total 602']);
});

test('rejected spans are sent again, then dropped and counted', async () => {
  const { clock, exporter, taken, collector, counted } = rig();
  collector.answer = () => {
    throw new GrpcError('Unavailable', 'away');
  };
  for (let index = 0; index < 3000; index++) exporter.add(span(`n${index}`));
  assert.deepEqual(await counted(), ['keelson_trace_spans_dropped_total{reason="queue-full"} 440']);
  await clock.advance(20_000);
  collector.answer = () => ({});
  await clock.advance(60_000);
  assert.equal(taken.flat().length, 2560);
  collector.answer = () => {
    throw new GrpcError('InvalidArgument', 'no');
  };
  exporter.add(span('refused'));
  await clock.advance(5000);
  collector.answer = () => ({ partialSuccess: { rejectedSpans: 1 } });
  exporter.add(span('c'));
  exporter.add(span('d'));
  await clock.advance(5000);
  assert.deepEqual((await counted()).toSorted(), [
    'keelson_trace_spans_dropped_total{reason="not-taken"} 1',
    'keelson_trace_spans_dropped_total{reason="queue-full"} 440',
    'keelson_trace_spans_dropped_total{reason="refused"} 1',
    'keelson_trace_spans_exported_total 2561',
  ]);
});

test('a collector that rejects more or less than there was rejects all or none', async () => {
  const { exporter, collector, clock, counted } = rig();
  for (const rejectedSpans of [2n ** 63n - 1n, -5n, -(2n ** 63n), 7]) {
    collector.answer = () => ({ partialSuccess: { rejectedSpans } });
    exporter.add(span('a'));
    exporter.add(span('b'));
    await clock.advance(5000);
  }
  assert.deepEqual((await counted()).toSorted(), [
    'keelson_trace_spans_dropped_total{reason="refused"} 4',
    'keelson_trace_spans_exported_total 4',
  ]);
});

test('the last spans are sent at the end, for so long and no longer', async () => {
  const sending = rig();
  sending.exporter.add(span('last'));
  await sending.clock.drive(sending.exporter.stop(1000));
  assert.deepEqual(sending.taken, [['last']]);
  sending.exporter.add(span('after'));
  assert.match((await sending.counted()).join(), /dropped_total\{reason="queue-full"\} 1/);
  const away = rig();
  away.collector.answer = () => {
    throw new GrpcError('Unavailable', 'away');
  };
  away.exporter.add(span('lost'));
  const startMs = away.clock.monotonicMs();
  await away.clock.drive(away.exporter.stop(1000));
  assert.equal(away.clock.monotonicMs() - startMs, 1000);
});

test('a span has the field numbers and wire types of opentelemetry-proto', () => {
  const bytes = createMessageCodec(otlpTables).encode(REQUEST, exportRequest([span('x')], { 'service.name': 's' }));
  const inner = (of: Uint8Array, field: number): Uint8Array => fieldsOf(of).get(field)![0] as Uint8Array;
  const resourceSpans = inner(bytes, 1);
  assert.equal(Buffer.from(inner(inner(inner(resourceSpans, 1), 1), 1)).toString(), 'service.name');
  const fields = fieldsOf(inner(inner(resourceSpans, 2), 2));
  const text = (field: number, index = 0): string => Buffer.from(fields.get(field)![index] as Uint8Array).toString();
  assert.equal(Buffer.from(fields.get(1)![0] as Uint8Array).toString('hex'), context.traceId);
  assert.equal(Buffer.from(fields.get(2)![0] as Uint8Array).toString('hex'), context.spanId);
  assert.equal(Buffer.from(fields.get(4)![0] as Uint8Array).toString('hex'), '00f067aa0ba902b7');
  assert.equal(text(5), 'x');
  assert.equal(fields.get(6)![0], 3);
  assert.equal(fields.get(7)![0], 1_700_000_000_000_250_000n);
  assert.equal(fields.get(8)![0], 1_700_000_000_001_500_000n);
  assert.deepEqual(fields.get(9)!.length, 2);
  assert.equal(Buffer.from(inner(fields.get(11)![0] as Uint8Array, 2)).toString(), 'event');
  assert.equal(Buffer.from(inner(fields.get(15)![0] as Uint8Array, 2)).toString(), 'broken');
  assert.equal(fieldsOf(fields.get(15)![0] as Uint8Array).get(3)![0], 2);
  assert.equal(fields.get(16)![0], 0x301);
  assert.deepEqual(
    [...fields.keys()].toSorted((a, b) => a - b),
    [1, 2, 4, 5, 6, 7, 8, 9, 11, 15, 16],
  );
});

/** A message's fields by number, without its schema. */
function fieldsOf(bytes: Uint8Array): Map<number, unknown[]> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, unknown[]>();
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    const value =
      wire === 0
        ? reader.uint32()
        : wire === 1
          ? BigInt(reader.fixed64())
          : wire === 2
            ? reader.bytes()
            : reader.fixed32();
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}
