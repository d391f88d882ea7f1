/**
 * Writes the head of an HTTP/1.1 response with any headers: what a client or backend sent must not cause an
 * exception.
 */
import type { ServerResponse } from 'node:http';
import { hasErrorCode } from '../../base/errors.ts';
import { sendableHeaderValue } from '../../base/header-text.ts';

type NodeHeaders = Record<string, string | string[]>;

/** Writes the head. Values with characters no header can have are sent without them. */
export function writeHead(response: ServerResponse, status: number, headers: NodeHeaders): void {
  try {
    response.writeHead(status, headers);
  } catch (error) {
    if (response.headersSent || !hasErrorCode(error, 'ERR_INVALID_CHAR')) throw error;
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.writeHead(status, sendable(headers));
  }
}

function sendable(headers: NodeHeaders): NodeHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(sendableHeaderValue) : sendableHeaderValue(value),
    ]),
  );
}
