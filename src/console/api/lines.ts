/** Reads a streamed response by lines. */
import { ApiError } from './http.ts';

/** The lines of a response as they arrive. Rejects with `ApiError` when the response breaks off. */
export async function* linesOf(response: Response): AsyncGenerator<readonly string[]> {
  let rest = '';
  for await (const piece of textOf(response)) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines;
  }
  if (rest !== '') yield [rest];
}

/** The text of a response in the pieces that arrive. Invalid UTF-8 becomes the replacement character. */
export async function* textOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(brokenOff);
      if (done) break;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the connection may be closed already
  }
}

function brokenOff(): never {
  throw new ApiError({ code: 0, reason: 'Unreachable', message: 'the answer of the API server broke off' });
}
