// Places in texts.
#include "compiler/base/source.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace loop::base;

TEST_CASE("positions count lines and code points from one") {
  const SourceFile file("a.loop", "ab\nüx\n\nend");
  CHECK(file.line_count() == 4);
  const auto check = [&](uint32_t offset, uint32_t line, uint32_t column) {
    const Position at = file.position(offset);
    CHECK(at.line == line);
    CHECK(at.column == column);
  };
  check(0, 1, 1);
  check(2, 1, 3);
  check(3, 2, 1);
  check(5, 2, 2);  // behind the two bytes of ü
  check(6, 2, 3);
  check(7, 3, 1);
  check(8, 4, 1);
  check(11, 4, 4);
  check(1000, 4, 4);
}

TEST_CASE("lines come without their newline") {
  const SourceFile file("a.loop", "one\r\ntwo\n");
  CHECK(file.line(1) == "one");
  CHECK(file.line(2) == "two");
  CHECK(file.line(3).empty());
  CHECK(file.line(0).empty());
  CHECK(file.line(9).empty());
  CHECK(SourceFile("empty", "").line_count() == 1);
  CHECK(SourceFile("empty", "").position(0).line == 1);
}

TEST_CASE("a manager names its texts and keeps them in place") {
  SourceManager sources;
  const FileId first = sources.add("first", "hello");
  const SourceFile* const address = &sources.file(first);
  for (int i = 0; i < 1000; ++i) sources.add("more", "x");
  CHECK(&sources.file(first) == address);
  CHECK(sources.file(first).path() == "first");
  CHECK(sources.contains(first));
  CHECK_FALSE(sources.contains(FileId{}));
  CHECK_FALSE(sources.contains(FileId{2000}));
  CHECK_FALSE(static_cast<bool>(FileId{}));
  CHECK_THROWS_AS(sources.file(FileId{2000}), std::out_of_range);
}

TEST_CASE("the text of a span, cut to what there is") {
  SourceManager sources;
  const FileId id = sources.add("a", "hello");
  CHECK(sources.text({id, 1, 3}) == "el");
  CHECK(sources.text({id, 3, 99}) == "lo");
  CHECK(sources.text({id, 99, 3}).empty());
  CHECK(sources.text({}).empty());
}

TEST_CASE("joined spans") {
  const FileId a{1};
  const FileId b{2};
  CHECK(join({a, 2, 4}, {a, 7, 9}) == Span{a, 2, 9});
  CHECK(join({a, 7, 9}, {a, 2, 4}) == Span{a, 2, 9});
  CHECK(join({a, 2, 4}, {b, 7, 9}) == Span{a, 2, 4});
  CHECK(join({}, {b, 7, 9}) == Span{b, 7, 9});
  CHECK(join({a, 2, 4}, {}) == Span{a, 2, 4});
}
