/** Finished spans as OTLP's request. */
import type { FinishedSpan } from '../../component-helpers/tracing/tracer.ts';
import type { SpanAttributes, SpanContext } from '../../platform/tracing.ts';
import { VERSION } from '../../base/version.ts';

const SAMPLED = 0x01;
/** The next bit is set when the parent belongs to another process. */
const KNOWS_REMOTE = 0x100;
const REMOTE = 0x200;

export function exportRequest(spans: readonly FinishedSpan[], resource: SpanAttributes): object {
  const scope = { name: 'keelson', version: VERSION };
  return {
    resourceSpans: [
      { resource: { attributes: keyValues(resource) }, scopeSpans: [{ scope, spans: spans.map(spanMessage) }] },
    ],
  };
}

function spanMessage({ context, parent, link, name, kind, startMs, endMs, ...span }: FinishedSpan): object {
  return {
    traceId: bytesOf(context.traceId),
    spanId: bytesOf(context.spanId),
    parentSpanId: parent && bytesOf(parent.spanId),
    name,
    kind: `SPAN_KIND_${kind.toUpperCase()}`,
    startTimeUnixNanoMs: startMs,
    endTimeUnixNanoMs: endMs,
    attributes: keyValues(span.attributes),
    events: span.events.map((event) => ({ name: event.name, timeUnixNanoMs: event.timeMs })),
    links: link === undefined ? [] : [linkMessage(link)],
    status: span.error === undefined ? {} : { code: 'STATUS_CODE_ERROR', message: span.error },
    flags: SAMPLED | KNOWS_REMOTE | (parent?.remote === true ? REMOTE : 0),
  };
}

function linkMessage({ traceId, spanId, sampled, remote }: SpanContext): object {
  const flags = (sampled ? SAMPLED : 0) | KNOWS_REMOTE | (remote === true ? REMOTE : 0);
  return { traceId: bytesOf(traceId), spanId: bytesOf(spanId), flags };
}

/** Values that are empty or zero are left out: the messages do not distinguish them from absent ones. */
function keyValues(attributes: SpanAttributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined || value === '' || value === 0) return [];
    return [{ key, value: typeof value === 'number' ? { intValue: value } : { stringValue: value } }];
  });
}

function bytesOf(hex: string): Uint8Array {
  return Buffer.from(hex, 'hex');
}
