"""The parser of statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Union

from pocketsql.syntax.expressions import ExpressionParser
from pocketsql.syntax.nodes import (
    ColumnDefinition,
    ColumnRef,
    CreateTable,
    Delete,
    DropTable,
    Explain,
    Expression,
    Insert,
    Item,
    Join,
    Order,
    Query,
    Reference,
    Select,
    SetOperation,
    Source,
    Statement,
    Transaction,
    Update,
)
from pocketsql.syntax.stream import TokenStream
from pocketsql.syntax.writer import expression_text

Body = Union[Select, SetOperation, Query]  # noqa: UP007
"""What a query can consist of."""
MOST_OPERATIONS = 60
"""Most set operations of a statement."""


def parse_statement(text: str) -> Statement:
    """Read one statement; a semicolon may follow.

    Raises:
        ParseError: It is none, or more than one.
    """
    tokens = TokenStream(text)
    statement = StatementParser(tokens).statement()
    tokens.accept(";")
    if tokens.next.kind != "end":
        raise tokens.error(f"unexpected {tokens.named()}")
    return statement


def parse_script(text: str) -> list[Statement]:
    """Read statements with semicolons between them.

    Raises:
        ParseError: The text is malformed.
    """
    tokens = TokenStream(text)
    found: list[Statement] = []
    while True:
        while tokens.accept(";"):
            pass
        if tokens.next.kind == "end":
            return found
        found.append(StatementParser(tokens).statement())
        if tokens.next.kind != "end":
            tokens.expect(";")


class StatementParser:
    """Reads statements."""

    def __init__(self, tokens: TokenStream) -> None:
        self._tokens = tokens
        self._expressions = ExpressionParser(tokens, self.query)
        self._operations = 0

    def statement(self) -> Statement:
        """Read a statement."""
        tokens = self._tokens
        if tokens.ahead("select") or tokens.ahead("("):
            return self.query()
        for word in ("begin", "commit", "rollback"):
            if tokens.accept(word):
                return Transaction(word)
        if tokens.accept("explain"):
            return Explain(self.query())
        if tokens.accept("insert"):
            return self._insert()
        if tokens.accept("update"):
            return self._update()
        if tokens.accept("delete"):
            tokens.expect("from")
            return Delete(tokens.name("a table"), self._where())
        if tokens.accept("create"):
            return self._create()
        if tokens.accept("drop"):
            tokens.expect("table")
            if_exists = tokens.accept("if", "exists")
            return DropTable(tokens.name("a table"), if_exists)
        raise tokens.error(f"expected a statement, got {tokens.named()}")

    def query(self) -> Query:
        """Read a query with its order and limit."""
        tokens = self._tokens
        tokens.enter()
        body = self._combined()
        order: list[Order] = []
        if tokens.accept("order"):
            tokens.expect("by")
            order.append(self._order())
            while tokens.accept(","):
                order.append(self._order())
        limit = self._expressions.expression() if tokens.accept("limit") else None
        offset = self._expressions.expression() if tokens.accept("offset") else None
        tokens.leave()
        if isinstance(body, Query) and not order and limit is None and offset is None:
            return body
        return Query(body, tuple(order), limit, offset)

    def _combined(self) -> Body:
        """Read queries joined by set operations; INTERSECT binds most strongly."""
        left = self._intersected()
        while True:
            if self._tokens.accept("union"):
                kind = "union"
            elif self._tokens.accept("except"):
                kind = "except"
            else:
                return left
            every = self._tokens.accept("all")
            left = self._both(kind, every, left, self._intersected())

    def _intersected(self) -> Body:
        left: Body = self._term()
        while self._tokens.accept("intersect"):
            every = self._tokens.accept("all")
            left = self._both("intersect", every, left, self._term())
        return left

    def _both(self, kind: str, every: bool, left: Body, right: Body) -> SetOperation:
        """Return a set operation, which must not have very many others on its left."""
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise self._tokens.error("too many set operations")
        return SetOperation(kind, every, left, right)

    def _term(self) -> Select | Query:
        if not self._tokens.accept("("):
            return self._select()
        query = self.query()
        self._tokens.expect(")")
        return query

    def _select(self) -> Select:
        tokens = self._tokens
        tokens.expect("select")
        distinct = tokens.accept("distinct")
        if not distinct:
            tokens.accept("all")
        items = [self._item()]
        while tokens.accept(","):
            items.append(self._item())
        select = Select(tuple(items), distinct=distinct)
        if tokens.accept("from"):
            source = self._source()
            select = replace(select, source=source, joins=tuple(self._joins()))
        select = replace(select, where=self._where())
        if tokens.accept("group"):
            tokens.expect("by")
            select = replace(select, groups=self._expressions.several())
        if tokens.accept("having"):
            select = replace(select, having=self._expressions.expression())
        return select

    def _item(self) -> Item:
        tokens = self._tokens
        if tokens.accept("*"):
            return Item(None)
        expression = self._qualified_star()
        if isinstance(expression, str):
            return Item(None, table=expression)
        if tokens.accept("as"):
            return Item(expression, tokens.name("a label"))
        if tokens.next.kind == "name":
            return Item(expression, tokens.name())
        if isinstance(expression, ColumnRef):
            return Item(expression, expression.name)
        return Item(expression, expression_text(expression))

    def _qualified_star(self) -> Expression | str:
        """Read an expression, or the name of a table before ``.*``."""
        if self._tokens.next.kind == "name" and self._tokens.star_follows():
            name = self._tokens.name()
            self._tokens.expect(".", "*")
            return name
        return self._expressions.expression()

    def _source(self) -> Source:
        tokens = self._tokens
        if tokens.accept("("):
            query = self.query()
            tokens.expect(")")
            tokens.accept("as")
            return Source(tokens.name("a name for the subquery"), query=query)
        table = tokens.name("a table")
        if tokens.accept("as") or tokens.next.kind == "name":
            return Source(tokens.name(), table)
        return Source(table, table)

    def _joins(self) -> list[Join]:
        tokens = self._tokens
        found: list[Join] = []
        while True:
            if tokens.accept(",") or tokens.accept("cross", "join"):
                found.append(Join("cross", self._source(), None))
                continue
            if tokens.accept("left"):
                tokens.accept("outer")
                tokens.expect("join")
                kind = "left"
            elif tokens.accept("inner", "join") or tokens.accept("join"):
                kind = "inner"
            else:
                return found
            source = self._source()
            tokens.expect("on")
            found.append(Join(kind, source, self._expressions.expression()))

    def _where(self) -> Expression | None:
        return self._expressions.expression() if self._tokens.accept("where") else None

    def _order(self) -> Order:
        tokens = self._tokens
        expression = self._expressions.expression()
        descending = tokens.accept("desc")
        if not descending:
            tokens.accept("asc")
        nulls_first = None
        if tokens.accept_word("nulls"):
            nulls_first = tokens.accept_word("first")
            if not nulls_first and not tokens.accept_word("last"):
                raise tokens.error(f"expected FIRST or LAST, got {tokens.named()}")
        return Order(expression, descending, nulls_first)

    def _insert(self) -> Insert:
        tokens = self._tokens
        tokens.expect("into")
        table = tokens.name("a table")
        columns: list[str] = []
        if tokens.accept("("):
            columns.append(tokens.name("a column"))
            while tokens.accept(","):
                columns.append(tokens.name("a column"))
            tokens.expect(")")
        if tokens.ahead("select"):
            return Insert(table, tuple(columns), query=self.query())
        tokens.expect("values")
        rows = [self._row()]
        while tokens.accept(","):
            rows.append(self._row())
        return Insert(table, tuple(columns), tuple(rows))

    def _row(self) -> tuple[Expression | None, ...]:
        """Read a row of values; DEFAULT becomes None."""
        tokens = self._tokens
        tokens.expect("(")
        values: list[Expression | None] = []
        while True:
            values.append(None if tokens.accept("default") else self._expressions.expression())
            if not tokens.accept(","):
                break
        tokens.expect(")")
        return tuple(values)

    def _update(self) -> Update:
        tokens = self._tokens
        table = tokens.name("a table")
        tokens.expect("set")
        changes = [self._change()]
        while tokens.accept(","):
            changes.append(self._change())
        return Update(table, tuple(changes), self._where())

    def _change(self) -> tuple[str, Expression]:
        column = self._tokens.name("a column")
        self._tokens.expect("=")
        return column, self._expressions.expression()

    def _create(self) -> CreateTable:
        tokens = self._tokens
        tokens.expect("table")
        if_not_exists = tokens.accept("if", "not", "exists")
        name = tokens.name("a table")
        tokens.expect("(")
        columns = [self._column()]
        while tokens.accept(","):
            columns.append(self._column())
        tokens.expect(")")
        return CreateTable(name, tuple(columns), if_not_exists)

    def _column(self) -> ColumnDefinition:
        """Read a column with its constraints, which may come in any order."""
        tokens = self._tokens
        column = ColumnDefinition(tokens.name("a column"), self._expressions.type_name())
        while True:
            if tokens.accept("primary"):
                if not tokens.accept_word("key"):
                    raise tokens.error(f"expected KEY, got {tokens.named()}")
                column = replace(column, primary=True, not_null=True, unique=True)
            elif tokens.accept("not", "null"):
                column = replace(column, not_null=True)
            elif tokens.accept("unique"):
                column = replace(column, unique=True)
            elif tokens.accept("default"):
                column = replace(column, default=self._expressions.expression())
            elif tokens.accept("check"):
                tokens.expect("(")
                column = replace(column, check=self._expressions.expression())
                tokens.expect(")")
            elif tokens.accept("references"):
                column = replace(column, reference=self._reference())
            else:
                return column

    def _reference(self) -> Reference:
        tokens = self._tokens
        table = tokens.name("a table")
        tokens.expect("(")
        column = tokens.name("a column")
        tokens.expect(")")
        if not tokens.accept("on", "delete"):
            return Reference(table, column)
        if tokens.accept("set", "null"):
            return Reference(table, column, "set null")
        for action in ("cascade", "restrict"):
            if tokens.accept_word(action):
                return Reference(table, column, action)
        raise tokens.error(f"expected CASCADE, RESTRICT or SET NULL, got {tokens.named()}")
