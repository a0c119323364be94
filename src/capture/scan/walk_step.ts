// Where a walk is that stopped: within a value, and within a key. Names for numbers; nothing else.

/** What comes next of a value: one constant each, which the compiler knows better than members. */
export const atValue = 0;
/** Behind a container's opening bracket. */
export const atFirst = 1;
export const atKey = 2;
export const inKeyText = 3;
export const atColon = 4;
export const inText = 5;
export const inDigits = 6;
/** Behind a value that is through. */
export const behind = 7;

/** What comes next of a key that is read by itself. */
export const noKey = 0;
export const keyText = 1;
export const keyColon = 2;
export const keyValue = 3;
