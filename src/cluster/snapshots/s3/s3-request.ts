/**
 * Sends one request to S3: signed (SigV4, by aws4fetch) and retried where that may help. Errors name the action and
 * S3's code and message; neither errors nor logs contain credentials or signatures.
 */
import { AwsV4Signer } from 'aws4fetch';
import { formatTime } from '../../../api/time.ts';
import { createBackoff } from '../../../base/backoff.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { CancelTimer } from '../../../platform/clock.ts';
import type { HttpAnswer, HttpCall } from '../../../platform/net.ts';
import type { Platform } from '../../../platform/platform.ts';
import { PreflightError } from '../../preflight-error.ts';
import { s3Url } from './s3-address.ts';
import { readError } from './s3-answers.ts';
import type { S3Config } from './s3-options.ts';

export interface S3Deps extends Pick<Platform, 'net' | 'clock' | 'crypto' | 'log'> {
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

export interface S3Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD';
  /** The object's key; '' is the bucket. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** The action in error messages, such as `uploading snapshot-a-1`. */
  readonly doing: string;
  /** The most attempts. */
  readonly tries?: number;
}

export interface S3Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const MAX_TRIES = 5;
const BACKOFF = { initialMs: 500, maxMs: 10_000 } as const;
/** Four times the size of a page of a thousand keys of usual length; also fits the longest possible keys. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const NOTHING = new Uint8Array();

/** Errors that a retry may avoid. */
const PASSING: ReadonlySet<string> = new Set(['SlowDown', 'InternalError', 'RequestTimeout', 'ServiceUnavailable']);

/** An error response of S3; retries do not avoid it. */
export class S3Error extends PreflightError {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Sends the call, and retries while connections fail or the server is busy. Rejects with `PreflightError`. */
export async function s3Request(deps: S3Deps, config: S3Config, call: S3Call): Promise<S3Answer> {
  return retrying(deps, call, async () => {
    const answer = await sendSigned(deps, config, call);
    const text = await readText(answer.body);
    checkAnswer(call.doing, answer.status, text);
    return { status: answer.status, headers: answer.headers, text };
  });
}

/**
 * The body of an object in chunks, each of which must arrive within the timeout. Once the body has begun there are no
 * retries. Rejects with `PreflightError`.
 */
export async function s3Stream(deps: S3Deps, config: S3Config, call: S3Call): Promise<AsyncIterable<Uint8Array>> {
  const { timeoutMs } = config;
  return retrying(deps, call, async () => {
    const answer = await sendSigned(deps, config, call, { headTimeoutMs: timeoutMs });
    const pieces = withinTime(deps.clock, answer, timeoutMs);
    if (answer.status >= 300) checkAnswer(call.doing, answer.status, await readText(pieces));
    return pieces;
  });
}

/** A body of any length whose chunks must each arrive in time. */
async function* withinTime(
  clock: S3Deps['clock'],
  { body, cancel }: HttpAnswer,
  timeoutMs: number,
): AsyncGenerator<Uint8Array> {
  let isLate = false;
  const begin = (): CancelTimer =>
    clock.setTimer(timeoutMs, () => {
      isLate = true;
      cancel();
    });
  let end = begin();
  const late = (): Error => new Error(`nothing came for ${timeoutMs / 1000} s`);
  try {
    for await (const piece of body) {
      end();
      yield piece;
      end = begin();
    }
  } catch (error) {
    throw isLate ? late() : error;
  } finally {
    end();
  }
  if (isLate) throw late();
}

async function retrying<T>(
  { clock, log, signal }: S3Deps,
  { doing, tries = MAX_TRIES }: S3Call,
  work: () => Promise<T>,
): Promise<T> {
  const backoff = createBackoff(BACKOFF);
  const hasEnded = (): boolean => signal?.aborted === true;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const mayPass = !(error instanceof S3Error) || PASSING.has(error.code);
      const message = error instanceof PreflightError ? error.message : `S3: ${doing}: ${errorMessage(error)}`;
      if (!mayPass || attempt >= tries || hasEnded()) throw new PreflightError(message);
      log.warn('a request to S3 failed and is repeated', { reason: message, attempt });
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
      if (hasEnded()) throw new PreflightError(message);
    }
  }
}

async function sendSigned(
  { net, clock, crypto, signal }: S3Deps,
  config: S3Config,
  call: S3Call,
  limit: Pick<HttpCall, 'timeoutMs' | 'headTimeoutMs'> = { timeoutMs: config.timeoutMs },
): Promise<HttpAnswer> {
  const { method, key, query, body = NOTHING } = call;
  const { credentials, region, caPem, skipSslVerify, insecure } = config;
  const signer = new AwsV4Signer({
    ...credentials,
    method,
    url: s3Url(config, key, query),
    headers: { 'x-amz-content-sha256': crypto.sha256Hex(body) },
    service: 's3',
    region,
    datetime: formatTime(clock.nowMs()).replace(/[:-]/g, ''),
  });
  const release = clock.holdBusy('signing a request to S3');
  const { url, headers } = await signer.sign().finally(release);
  return net.http({
    method,
    url: url.href,
    headers: { ...Object.fromEntries(headers), 'content-length': String(body.byteLength) },
    body: body.byteLength === 0 ? undefined : body,
    tls: insecure ? undefined : { caPem, insecureSkipVerify: skipSslVerify },
    ...limit,
    signal,
  });
}

/** Throws `S3Error` for a response that reports a failure, in its status or, after a long request, in its body. */
function checkAnswer(doing: string, status: number, text: string): void {
  const error = readError(text);
  if (status < 300 && error === undefined) return;
  const code = error?.code ?? (status >= 500 || status === 429 ? 'ServiceUnavailable' : `HTTP ${status}`);
  const cure = code === 'RequestTimeTooSkewed' ? '; set the clock of this machine' : '';
  const detail = error === undefined ? `status ${status}` : `${code}: ${error.message}`;
  throw new S3Error(code, `S3: ${doing}: ${detail.slice(0, 500)}${cure}`);
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > MAX_ANSWER_BYTES)
      throw new S3Error('TooLarge', `S3: the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
