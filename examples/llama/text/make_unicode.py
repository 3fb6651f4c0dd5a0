#!/usr/bin/env python3
"""Prints unicode_ranges.h: the letters and numbers beyond ASCII, from Python's copy of the Unicode Character Database.

    python3 examples/llama/text/make_unicode.py > examples/llama/text/unicode_ranges.h
"""
import unicodedata


def ranges(category):
    found = []
    for code in range(0x80, 0x110000):
        if unicodedata.category(chr(code))[0] != category:
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def show(name, category):
    print(f"static const unicode_range {name}[] = {{")
    entries = [f"{{0x{first:X}, 0x{last:X}}}," for first, last in ranges(category)]
    for start in range(0, len(entries), 5):
        print("    " + " ".join(entries[start : start + 5]))
    print("};")


print(f"/* Made by make_unicode.py from Unicode {unicodedata.unidata_version}: general categories L and N beyond ASCII. */")
print("/* clang-format off */")
show("letters", "L")
show("numbers", "N")
print("/* clang-format on */")
