/** Writes the JSON of a long response in pieces, one for each element of its lists, so that none takes long. */

/** The pieces; joined they are the object's JSON with a newline. */
export function* jsonPieces(object: object): Generator<string> {
  let before = '{';
  for (const [key, value] of Object.entries(object) as [string, unknown][]) {
    if (value === undefined) continue;
    const name = `${before}${JSON.stringify(key)}:`;
    before = ',';
    if (Array.isArray(value)) yield* listPieces(name, value);
    else yield `${name}${JSON.stringify(value)}`;
  }
  yield before === '{' ? '{}\n' : '}\n';
}

function* listPieces(name: string, list: readonly unknown[]): Generator<string> {
  let before = `${name}[`;
  for (const element of list) {
    // As JSON.stringify writes values that JSON cannot represent.
    yield `${before}${JSON.stringify(element) ?? 'null'}`;
    before = ',';
  }
  yield list.length === 0 ? `${name}[]` : ']';
}
