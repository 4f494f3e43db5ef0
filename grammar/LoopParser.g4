// Statements and values of a .loop file. Which names exist, and where, is not the grammar's business: semantic analysis has
// one table per block. Every decision is LL(1), so there is no ambiguity and no slow prediction.
//
// Sets of tokens are written out where they are used: a rule of their own would cost a tree node for each token.
//
// SEP stands between statements; the statement filter (compiler/syntax/statements.h) makes it from newlines and `;`.
parser grammar LoopParser;

options { tokenVocab = LoopLexer; }

file       : items EOF ;
expression : expr EOF ;

items : item? ( SEP item? )* ;

// Three forms: `use std.optimizers.adamw`, `use ..shared.base` | `when finite { … }` | `window { … }`, `tail = flush`,
// `step adamw(…) on plain`, `loop x extends y { … }`, `m <- …`, `schedule f(…) = …`. After `use` and `when`, an assignment makes
// a key of that name.
item
  : USE ( DOT* path | assignment clause* )
  | WHEN ( expr block | assignment clause* )
  | ( NAME | ON | EVERY | PER | EXTENDS | IN ) ( NAME | USE | IN )? args? extension? assignment? clause* block?
  ;

extension : EXTENDS path ;
assignment : ( ASSIGN | LEFT_ARROW ) expr ;
block : LBRACE items RBRACE ;

clause
  : ON ( NAME | USE | WHEN | ON | EVERY | PER | EXTENDS | IN ) ( COMMA ( NAME | USE | WHEN | ON | EVERY | PER | EXTENDS | IN ) )*
  | EVERY expr
  | WHEN expr
  | PER ( NUMBER | path args? )
  ;

// A comma may follow the last argument or element. Between two commas there must be one: checked when the tree is built.
args  : LPAREN ( arg ( COMMA arg? )* )? RPAREN ;
arg   : expr ( ( COLON | ASSIGN ) expr )? range? ;
range : IN ( LBRACKET | LPAREN ) expr COMMA expr ( RBRACKET | RPAREN ) ;

// Operators are read flat and ordered by their precedence when the tree is built (compiler/syntax/precedence.h): a chain of
// any length needs no recursion.
expr
  : IF expr THEN expr ELSE expr
  | ( MINUS | NOT )* primary
    ( ( RIGHT_ARROW | OR | AND | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL | EQUAL | NOT_EQUAL | PLUS | MINUS | STAR | SLASH | CARET )
      ( MINUS | NOT )* primary )*
  ;

primary
  : NUMBER NAME?
  | PERCENT
  | STRING
  | path args?
  | LPAREN expr RPAREN
  | LBRACKET ( expr ( COMMA expr? )* )? RBRACKET
  ;

// The contextual words are names here.
path
  : ( NAME | USE | WHEN | ON | EVERY | PER | EXTENDS | IN ) ( DOT ( NAME | USE | WHEN | ON | EVERY | PER | EXTENDS | IN ) )*
  ;
