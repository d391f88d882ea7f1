/** Bodies of answers as text, up to a length: no server may fill the memory of who asks it. */
import type { HttpAnswer } from './net.ts';

/** There was more than was to be read. */
export class AnswerTooLongError extends Error {
  override readonly name = 'AnswerTooLongError';
}

/** The whole body. Rejects with {@link AnswerTooLongError} beyond so many bytes; the connection is dropped then. */
export async function answerText(answer: HttpAnswer, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      answer.cancel();
      throw new AnswerTooLongError(`the answer exceeds ${maxBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
