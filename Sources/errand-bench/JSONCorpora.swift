#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Documents of the kinds that servers send, and the models that read them.
enum JSONCorpora {
    struct Item: Codable, Sendable {
        var id: Int
        var name: String
        var email: String
        var tags: [String]
        var score: Double
    }

    struct Timeline: Codable {
        var statuses: [Status]
    }

    final class Status: Codable {
        let createdAt: String
        let id: Int
        let text: String
        let source: String
        let truncated: Bool
        let inReplyTo: Int?
        let user: User
        let reposts: Int
        let favorites: Int
        let entities: Entities
        let favorited: Bool
        let language: String
        let repost: Status?

        init(_ number: Int, repost: Status? = nil) {
            createdAt = "Sun Nov 22 10:\(10 + number % 50):25 +0000 2026"
            id = 505_874_924_095_815_681 + number
            text = "@user\(number) \n\n名前\n\"quoted\" text with a \\ and \u{1F600}, http://t.example/\(number)"
            source = "<a href=\"http://example.com/download/app\" rel=\"nofollow\">Example for phones</a>"
            truncated = false
            inReplyTo = number % 3 == 0 ? id - 7 : nil
            user = User(number)
            (reposts, favorites) = (number % 100, number % 10)
            entities = Entities(number)
            favorited = number % 5 == 0
            language = "ja"
            self.repost = repost
        }
    }

    struct User: Codable {
        let id: Int
        let name: String
        let screenName: String
        let location: String
        let description: String
        let url: String?
        let followers: Int
        let friends: Int
        let createdAt: String
        let timeZone: String?
        let isVerified: Bool
        let statuses: Int
        let imageURL: String
        let color: String

        init(_ number: Int) {
            id = 1_186_275_104 + number
            name = "AYUMI ☆ \(number)"
            screenName = "ayu\(number)"
            location = "京都 / Kyoto"
            description = "元野球部マネージャー…最高の夏をありがとう…\n\"…\""
            url = number % 2 == 0 ? "http://example.com/\(number)" : nil
            (followers, friends, statuses) = (number * 7 % 4000, number * 3 % 900, number * 11)
            createdAt = "Sat Feb 16 13:40:25 +0000 2013"
            timeZone = number % 4 == 0 ? "Tokyo" : nil
            isVerified = false
            imageURL = "http://img.example.com/profile_images/497760886795153410/\(number)_normal.jpeg"
            color = "C0DEED"
        }
    }

    struct Entities: Codable {
        struct Tag: Codable {
            var text: String
            var indices: [Int]
        }
        struct Link: Codable {
            var url: String
            var expanded: String
            var indices: [Int]
        }

        let tags: [Tag]
        let links: [Link]
        let symbols: [String]

        init(_ number: Int) {
            tags = number % 2 == 0 ? [Tag(text: "選手権", indices: [47, 58])] : []
            links = [
                Link(
                    url: "http://t.example/\(number)", expanded: "http://www.example.jp/up/\(number)",
                    indices: [33, 55])
            ]
            symbols = []
        }
    }

    struct Map: Codable {
        struct Feature: Codable {
            var type: String
            var coordinates: [[[Double]]]
        }

        var type: String
        var features: [Feature]
    }

    struct Small: Codable {
        var id: Int
        var name: String
        var active: Bool
        var score: Double
    }

    /// A list of objects, about three megabytes.
    static func list() throws -> Data {
        try JSONEncoder().encode(
            (0..<31_000).map { number in
                Item(
                    id: number, name: "Name \(number)", email: "user\(number)@example.com", tags: ["a", "bc"],
                    score: Double(number) / 7)
            })
    }

    /// Objects with many members and texts with escape sequences, about 600 KB.
    static func timeline() throws -> Data {
        let statuses = (0..<480).map { Status($0, repost: $0 % 4 == 0 ? Status($0 + 1000) : nil) }
        return try JSONEncoder().encode(Timeline(statuses: statuses))
    }

    /// Arrays of numbers with seventeen digits in arrays, about two megabytes.
    static func coordinates() throws -> Data {
        let rings = (0..<480).map { ring in
            (0..<110).map { point in
                let place = Double(ring * 110 + point)
                return [-140 + place / 611.7, 42 + place / 1291.3]
            }
        }
        return try JSONEncoder().encode(
            Map(type: "FeatureCollection", features: [Map.Feature(type: "Polygon", coordinates: rings)]))
    }

    /// An object of 53 bytes.
    static let small = Data(#"{"id":123,"name":"Ann Lee","active":true,"score":4.5}"#.utf8)

    /// A list of objects with a text where one of the last ones has a number.
    static func broken() throws -> Data {
        let items = #"{"list":["# + String(repeating: #"{"id":1,"name":"a","active":true,"score":1},"#, count: 20)
        return Data((#"{"page":{"result":"# + items + #"{"id":"x"}]}}}"#).utf8)
    }

    struct Page: Decodable {
        struct Result: Decodable {
            var result: List
        }
        struct List: Decodable {
            var list: [Small]
        }

        var page: Result
    }
}
