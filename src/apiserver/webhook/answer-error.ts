/**
 * The error text of an unsuccessful response. Upstream: apierrors.NewGenericServerResponse as the REST client uses
 * it.
 */
import { isObject } from '../../api/codec/own-property.ts';

const KNOWN: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  406: 'the server was unable to respond with a content type that the client supports',
  409: 'the server reported a conflict',
  415: 'the body of the request was in an unknown format',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

const SHOWN_BYTES = 2048;
/** The longest Status that is quoted in responses and in the log of this server. */
const STATUS_CHARS = 32 * 1024;
/** Longer texts are not parsed as a Status, which happens in one turn. */
const READ_CHARS = 256 * 1024;

/** The text for an unsuccessful status; a Status in the body has its own message. */
export function answerErrorText(status: number, body: string): string {
  const statusText = statusMessage(body);
  if (statusText !== undefined) return statusText;
  if (status === 403) return body.trim() === '' ? 'the server refused our request' : body.trim().slice(0, SHOWN_BYTES);
  const text = KNOWN[status];
  if (text !== undefined) return text;
  if (status >= 500) {
    const shown = body.trim() === '' ? 'unknown' : body.trim().slice(0, SHOWN_BYTES);
    return `an error on the server (${JSON.stringify(shown)}) has prevented the request from succeeding`;
  }
  return `the server responded with the status code ${status} but did not return more information`;
}

function statusMessage(body: string): string | undefined {
  if (body.length > READ_CHARS) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value['kind'] !== 'Status' || value['status'] === 'Success') return undefined;
  const { message } = value;
  return typeof message === 'string' && message !== '' ? message.slice(0, STATUS_CHARS) : undefined;
}
