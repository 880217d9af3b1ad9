#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// How the pages of a list follow one another.
///
///     let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
///     let byCursor: Paging<PinPage> = .cursor("cursor", next: \.nextCursor)
///     let byLastID: Paging<PinPage> = .lastID("max_id", \.items.last?.id)
///     let byHeader: Paging<[User]> = .link
///     let byURL: Paging<PinPage> = .nextURL(\.next)
///
/// The functions are asked once for each page.
public struct Paging<Response: Decodable & Sendable>: Sendable {
    enum Style: Sendable {
        case number(String, first: Int, isLast: @Sendable (Response, _ before: Int) -> Bool?)
        case text(String, next: @Sendable (Response) -> String?)
        case url(@Sendable (Reply<Response>) -> String?)
    }

    let style: Style

    /// By a number in the parameter of that name, up to the number of pages that each answer tells.
    ///
    /// It ends with the last page, with a page beyond it, or with an empty one. An answer without a total is a fault.
    public static func number(
        _ name: String, from first: Int = 1, total: @escaping @Sendable (Response) -> Int?
    ) -> Paging {
        Paging(
            style: .number(name, first: first) { response, before in
                total(response).map { $0 <= 0 || before >= $0 - 1 }
            })
    }

    /// By a number in the parameter of that name, up to the first page on which there are none of those.
    public static func number(
        _ name: String, from first: Int = 1,
        untilEmpty items: @escaping @Sendable (Response) -> some Collection & SendableMetatype
    ) -> Paging {
        Paging(style: .number(name, first: first) { response, _ in items(response).isEmptyPage })
    }

    /// By a number in the parameter of that name, up to the first empty page.
    public static func number(_ name: String, from first: Int = 1) -> Paging where Response: Collection {
        number(name, from: first, untilEmpty: { $0 })
    }

    /// By a cursor that each answer gives for the next page, in the parameter of that name.
    ///
    /// It ends with an answer whose cursor is `nil` or empty.
    public static func cursor<Cursor: QueryValue>(
        _ name: String, next: @escaping @Sendable (Response) -> Cursor?
    ) -> Paging {
        Paging(style: .text(name) { next($0)?.queryTexts.first })
    }

    /// By the identifier of the last element that was had, in the parameter of that name.
    ///
    /// It ends with a page that has none. The server must not give that element again: where it does, ask for the
    /// identifier before it.
    public static func lastID<ID: QueryValue>(
        _ name: String, _ last: @escaping @Sendable (Response) -> ID?
    ) -> Paging {
        cursor(name, next: last)
    }

    /// By the link with `rel="next"` in the answer's `Link` header (RFC 8288); it ends where there is none.
    public static var link: Paging {
        Paging(style: .url { LinkHeader.next(in: $0.headers.values("Link")) })
    }

    /// By a URL in the answer, absolute or relative; it ends with an answer where that is `nil` or empty.
    public static func nextURL(_ next: @escaping @Sendable (Response) -> String?) -> Paging {
        Paging(style: .url { next($0.value) })
    }

    /// By a URL in the answer, absolute or relative; it ends with an answer where that is `nil`.
    public static func nextURL(_ next: @escaping @Sendable (Response) -> URL?) -> Paging {
        Paging(style: .url { next($0.value)?.absoluteString })
    }
}
