// Where a target listens, with whose credentials, and how long its answers may take.
import { bytesOf, type HttpExchange } from '../exchange.ts';

export interface Access {
  readonly host: string;
  readonly port: number;
  readonly tls: {
    readonly ca?: string;
    readonly cert: string;
    readonly key: string;
    readonly rejectUnauthorized?: boolean;
  };
}

/** Answers that come later have failed; the machine may be busy with other things. */
export const LATE_MS = 30_000;

/** How long an answer without an end is followed. */
export const OPEN_MS = 40;

/** Whether the answer may have no end: a watch, a stream, a proxied request. */
export function isOpenEnded(exchange: HttpExchange): boolean {
  return /watch|follow|exec|attach|portforward|proxy|ontainerLogs|\/run/.test(
    bytesOf(exchange.path).toString('latin1'),
  );
}
