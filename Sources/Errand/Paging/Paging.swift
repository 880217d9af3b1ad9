#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A way to get from one page of a list to the next.
///
///     let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
///     let byCursor: Paging<PinPage> = .cursor("cursor", next: \.nextCursor)
///     let byLastID: Paging<PinPage> = .cursor("max_id", next: \.items.last?.id)
///     let byHeader: Paging<[User]> = .link
///     let byURL: Paging<PinPage> = .nextURL(\.next)
///
/// The closures are called once for each page.
public struct Paging<Response: Decodable & Sendable>: Sendable {
    enum Style: Sendable {
        case number(String, first: Int, isLast: @Sendable (Response, _ before: Int) -> Bool?)
        case text(String, next: @Sendable (Response) -> String?)
        case url(@Sendable (Reply<Response>) -> String?)
    }

    let style: Style

    /// Pages by a number in the parameter `name`, up to the total number of pages in each response.
    ///
    /// The list ends with the last page, with a page beyond it, or with an empty one. A response without a total is a
    /// fault.
    public static func number(
        _ name: String, from first: Int = 1, total: @escaping @Sendable (Response) -> Int?
    ) -> Paging {
        Paging(
            style: .number(name, first: first) { response, before in
                total(response).map { $0 <= 0 || before >= $0 - 1 }
            })
    }

    /// Pages by a number in the parameter `name`, up to the first page without elements.
    public static func number(
        _ name: String, from first: Int = 1,
        untilEmpty items: @escaping @Sendable (Response) -> some Collection & SendableMetatype
    ) -> Paging {
        Paging(style: .number(name, first: first) { response, _ in items(response).isEmptyPage })
    }

    /// Pages by a number in the parameter `name`, up to the first empty page.
    public static func number(_ name: String, from first: Int = 1) -> Paging where Response: Collection {
        number(name, from: first, untilEmpty: { $0 })
    }

    /// Pages by a cursor in the parameter `name`: the one that each response contains for the next page, or the
    /// identifier of its last element.
    ///
    /// The list ends with a response whose cursor is `nil` or empty. With an identifier, the server must not return
    /// that element again: if it does, return the identifier before it.
    public static func cursor<Cursor: QueryValue>(
        _ name: String, next: @escaping @Sendable (Response) -> Cursor?
    ) -> Paging {
        Paging(style: .text(name) { next($0)?.texts.first })
    }

    /// Pages by the link with `rel="next"` in the `Link` header of the response (RFC 8288). The list ends without one.
    public static var link: Paging {
        Paging(style: .url { LinkHeader.next(in: $0.headers.values("Link")) })
    }

    /// Pages by a URL in the response, absolute or relative. The list ends with a response where it is `nil` or empty.
    public static func nextURL(_ next: @escaping @Sendable (Response) -> String?) -> Paging {
        Paging(style: .url { next($0.value) })
    }

    /// Pages by a URL in the response, absolute or relative. The list ends with a response where it is `nil`.
    public static func nextURL(_ next: @escaping @Sendable (Response) -> URL?) -> Paging {
        Paging(style: .url { next($0.value)?.absoluteString })
    }
}
