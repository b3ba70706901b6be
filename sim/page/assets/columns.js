/* columns.js - reads the columns of numbers that sim/page/columns.c writes: differences, seven bits a byte, the
 * sign in the lowest bit, in base64.  Numbers above 2^53 lose their last digits, which no picture shows. */
function readColumn (text) {
  const bytes = atob (text), numbers = [];
  let before = 0, value = 0, scale = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes.charCodeAt (i);
    value += (byte & 127) * scale;
    scale *= 128;
    if (byte < 128) {
      before += value % 2 ? -(value + 1) / 2 : value / 2;
      numbers.push (before);
      value = 0;
      scale = 1;
    }
  }
  return Float64Array.from (numbers);
}

/* The same object with every column that `names` holds in place of its text. */
function readColumns (object) {
  const read = { n: object.n, left_out: object.left_out || 0 };
  for (const name in object)
    if (typeof object[name] === "string")
      read[name] = readColumn (object[name]);
  return read;
}
