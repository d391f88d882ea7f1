/** The tracer of a component with its exporter: nothing of it exists where tracing is not configured. */
import { createTracer } from '../../component-helpers/tracing/tracer.ts';
import type { TracingSettings } from '../../component-helpers/tracing/tracing-configuration.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { SpanAttributes, Tracer } from '../../platform/tracing.ts';
import { createSpanExporter } from './otlp-exporter.ts';
import { otlpTables } from './otlp-table.ts';

export interface ComponentTracing {
  readonly tracer: Tracer;
  /** Sends the last spans. */
  stop(): Promise<void>;
}

const STOP_WITHIN_MS = 2000;

/** `resource`: which component this is, by OpenTelemetry's names. */
export function createTracing(
  platform: BasePlatform,
  { endpoint, samplingRatePerMillion }: TracingSettings,
  resource: SpanAttributes,
): ComponentTracing {
  const { clock, metrics, random } = platform;
  const log = platform.log.child('tracing');
  const connect = async () => {
    const { createGrpcCaller } = await import('../../grpc/grpc-caller.ts');
    return createGrpcCaller({ clock }, { target: endpoint, tables: otlpTables });
  };
  const exporter = createSpanExporter({ clock, log, metrics, connect }, resource);
  return {
    tracer: createTracer(
      { clock, random: random.fork('tracing'), onEnd: (span) => exporter.add(span) },
      samplingRatePerMillion,
    ),
    stop: () => exporter.stop(STOP_WITHIN_MS),
  };
}
