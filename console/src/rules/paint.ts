// Colours for a line of YAML: comments, keys and strings; the rest is plain.
//
// Invariant: the pieces of a line, put together, are the line. A line is painted by itself, so that a change costs
// what one line costs; a text over several lines is plain from its second.
import { unit } from './place';

export type Kind = 'plain' | 'comment' | 'key' | 'string' | 'sign';

export interface Piece {
  kind: Kind;
  text: string;
  /** Whether a fault begins here. */
  bad: boolean;
}

/** Lines beyond which a text is not painted. */
export const PAINTED_MAX = 3000;

/** Characters beyond which a line is not painted: nobody reads them, and each costs. */
export const WIDTH_MAX = 2000;

/** What ends a bare word: a comment, a colon that stands for a value, or a sign of a list or map. */
const BARE = /^(?:(?!\s#|:(?:\s|$)|,(?:\s|$)|[[\]{}]).)+/su;
const QUOTED = /^(?:"(?:\\.|[^"\\])*"?|'(?:''|[^'])*'?)/u;
const COLON = /^\s*:(?=\s|$)/u;

/** The pieces of a line, in which faults begin at these columns. */
export function paint(line: string, faults: number[] = []): Piece[] {
  if (line.length > WIDTH_MAX) return [{ kind: 'plain', text: line, bad: false }];
  let pieces = read(line);
  for (const column of faults) pieces = mark(pieces, unit(line, column));
  return pieces;
}

function read(line: string): Piece[] {
  const pieces: Piece[] = [];
  const put = (kind: Kind, text: string) => text !== '' && pieces.push({ kind, text, bad: false });
  let at = 0;
  while (at < line.length) {
    const rest = line.slice(at);
    const space = /^\s+/u.exec(rest)?.[0];
    const sign = /^(?:[[\]{},:&*|>]|-(?=\s|$))/u.exec(rest)?.[0];
    let [kind, text]: [Kind, string] = ['plain', rest];
    if (space) text = space;
    else if (rest.startsWith('#') && (at === 0 || /\s/u.test(line[at - 1] ?? ''))) kind = 'comment';
    else if (rest.startsWith('"') || rest.startsWith("'")) {
      text = QUOTED.exec(rest)?.[0] ?? rest;
      kind = COLON.test(rest.slice(text.length)) ? 'key' : 'string';
    } else if (sign) [kind, text] = ['sign', sign];
    else {
      text = BARE.exec(rest)?.[0] ?? rest[0] ?? '';
      kind = COLON.test(rest.slice(text.length)) ? 'key' : 'plain';
    }
    put(kind, text);
    at += text.length;
  }
  return pieces;
}

/** The same pieces, with the rest of the one at this place marked. */
function mark(pieces: Piece[], place: number): Piece[] {
  let at = 0;
  return pieces.flatMap((piece) => {
    const cut = place - at;
    at += piece.text.length;
    if (cut < 0 || cut >= piece.text.length || piece.bad) return [piece];
    const [before, after] = [piece.text.slice(0, cut), piece.text.slice(cut)];
    const bad = { ...piece, text: after, bad: true };
    return before === '' ? [bad] : [{ ...piece, text: before }, bad];
  });
}
