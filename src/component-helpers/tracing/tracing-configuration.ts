/**
 * The exporter and the sampling rate of spans: the common part of TracingConfiguration and KubeletConfiguration. Upstream:
 * component-base/tracing/api/v1.
 */

export interface TracingSettings {
  readonly endpoint: CollectorEndpoint;
  readonly samplingRatePerMillion: number;
}

/** A collector: an address without TLS, or a unix socket. */
export type CollectorEndpoint = { readonly url: string } | { readonly socketPath: string };

const DEFAULT_ENDPOINT = 'localhost:4317';
const MAX_RATE = 1_000_000;

/** Checks both values; throws an error that names the invalid one. `undefined`: the default. */
export function tracingSettings(
  endpoint: string | undefined,
  samplingRatePerMillion: number | undefined,
): TracingSettings {
  const rate = samplingRatePerMillion ?? 0;
  if (!Number.isInteger(rate)) throw new Error('samplingRatePerMillion: must be a whole number');
  if (rate < 0) throw new Error(`samplingRatePerMillion: Invalid value: ${rate}: sampling rate must be positive`);
  if (rate > MAX_RATE)
    throw new Error(
      `samplingRatePerMillion: Invalid value: ${rate}: sampling rate per million must be less than or equal to one million`,
    );
  return { endpoint: collectorEndpoint(endpoint ?? DEFAULT_ENDPOINT), samplingRatePerMillion: rate };
}

/** As gRPC names targets: `host:port`, `dns:host:port`, `unix:path`. */
function collectorEndpoint(text: string): CollectorEndpoint {
  const refuse = (why: string): never => {
    throw new Error(`endpoint: Invalid value: ${JSON.stringify(text)}: ${why}`);
  };
  const [, scheme = 'dns', rest = text] = /^([a-z][a-z-]*):(?!\d+$)(.*)$/.exec(text) ?? [];
  if (scheme === 'unix-abstract') refuse('sockets without a file are not supported here');
  if (scheme === 'unix') {
    const socketPath = rest.replace(/^\/\/(?=\/)/, '');
    return socketPath === '' ? refuse('names no socket') : { socketPath };
  }
  const target = scheme === 'dns' ? rest.replace(/^\/\/[^/]*\//, '') : text;
  const [, host = '', port = '443'] = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(target) ?? [];
  if (host !== '') return { url: `http://${host}:${port}` };
  const isKnown = /^[a-z][a-z0-9+.-]*:\/\//.test(text) && scheme !== 'dns';
  return refuse(
    isKnown
      ? `unsupported scheme: ${scheme}. Options are none, dns, unix, or unix-abstract. See https://github.com/grpc/grpc/blob/master/doc/naming.md`
      : 'is not of the form host:port',
  );
}
