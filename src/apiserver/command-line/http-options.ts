/**
 * The treatment of requests whatever they ask for: other origins, security headers, streams and connections, and the end of
 * the server. Flags of upstream's ServerRunOptions.
 */
import { parseDurationMs } from '../../api/duration.ts';
import { patternOf } from '../../api/json-schema/patterns.ts';
import { FlagError, type FlagValues, type OptionSet, wholeNumber } from '../../component-helpers/command-line/flags.ts';

export interface HttpOptions {
  /** Regular expressions of origins whose scripts may call. */
  readonly corsAllowedOrigins: readonly string[];
  /** `max-age=…`, `includeSubDomains`, `preload`. */
  readonly strictTransportSecurity: readonly string[];
  /** How likely a request of HTTP/2 is to send its connection elsewhere. */
  readonly goawayChance: number;
  readonly minRequestTimeoutMs: number;
  /** How long requests are served on after the signal to end, while /readyz fails. */
  readonly shutdownDelayMs: number;
  /** Whether new requests are answered with 429 while those under way end. */
  readonly shutdownSendRetryAfter: boolean;
  /** How long watches are let run on at the end; 0: they end at once. */
  readonly shutdownWatchGraceMs: number;
}

/** For watches that have no end of their own: 0 is no limit. */
const FOREVER_MS = 10 * 365 * 86_400_000;
const MOST_GOAWAY = 0.02;
const DIRECTIVES = /^(max-age=\d+|includeSubDomains|preload)$/;

/** CORS, HSTS, GOAWAY, shutdown. */
export const httpOptions: OptionSet<HttpOptions> = {
  flags: [
    {
      name: 'cors-allowed-origins',
      type: 'list',
      description: 'regular expressions of origins whose scripts may call, each pinned at both ends (default: none)',
    },
    {
      name: 'strict-transport-security-directives',
      type: 'list',
      description: 'directives of HSTS, e.g. max-age=31536000,includeSubDomains,preload (default: none)',
    },
    {
      name: 'goaway-chance',
      type: 'string',
      description:
        'how likely a request of HTTP/2 ends its connection, 0 to 0.02: clients come back through a balancer',
    },
    { name: 'min-request-timeout', type: 'string', description: 'seconds a watch lasts at least (default 1800)' },
    {
      name: 'shutdown-delay-duration',
      type: 'string',
      description: 'how long requests are served on after SIGTERM, while /readyz fails (default 0s)',
    },
    {
      name: 'shutdown-send-retry-after',
      type: 'bool',
      description: 'new requests get 429 and Retry-After while those under way end (default false)',
    },
    {
      name: 'shutdown-watch-termination-grace-period',
      type: 'string',
      description: 'how long watches may run on at the end (default 0s)',
    },
  ],
  read(values) {
    return {
      corsAllowedOrigins: (values.list('cors-allowed-origins') ?? []).map(origin),
      strictTransportSecurity: (values.list('strict-transport-security-directives') ?? []).map(directive),
      goawayChance: goaway(values),
      minRequestTimeoutMs:
        (wholeNumber(values, 'min-request-timeout', { from: 0, to: 2 ** 31 }) ?? 1800) * 1000 || FOREVER_MS,
      shutdownDelayMs: durationMs(values, 'shutdown-delay-duration'),
      shutdownSendRetryAfter: values.bool('shutdown-send-retry-after') ?? false,
      shutdownWatchGraceMs: durationMs(values, 'shutdown-watch-termination-grace-period'),
    };
  },
};

/** A pattern without anchors matches within a host's name, and so matches unintended hosts. */
function origin(text: string): string {
  const refuse = (why: string): FlagError =>
    new FlagError(`--cors-allowed-origins has an invalid value ${JSON.stringify(text)}, ${why}`);
  const pattern = patternOf(text);
  if ('error' in pattern) throw refuse(pattern.error);
  if (!text.startsWith('^') && !text.includes('//'))
    throw refuse("it must pin the start of the host name: begin with '^' or contain '//'");
  if (!text.endsWith('$') && !text.replaceAll('://', '').includes(':'))
    throw refuse("it must pin the end of the host name: end with '$' or contain the ':' before a port");
  return text;
}

function directive(text: string): string {
  if (DIRECTIVES.test(text)) return text;
  throw new FlagError(
    `--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information`,
  );
}

function goaway(values: FlagValues): number {
  const text = values.text('goaway-chance') ?? '0';
  const chance = Number(text);
  if (text.trim() !== '' && chance >= 0 && chance <= MOST_GOAWAY) return chance;
  throw new FlagError('--goaway-chance can not be less than 0 or greater than 0.02');
}

function durationMs(values: FlagValues, name: string): number {
  const text = values.text(name) ?? '0s';
  const ms = parseDurationMs(text);
  if (ms === undefined)
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--${name}" flag: it is no duration such as 1m30s`,
    );
  if (ms < 0) throw new FlagError(`--${name} can not be negative value`);
  return ms;
}
